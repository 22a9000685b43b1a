"""How a job asked for memory, and the worst exit code of its steps, from every form in which Slurm tells them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from data.findings import JobFacts, find
from data.model import ExitCode, Job, Tres
from data.report import build_report
from data.slurm import records_json, records_text
from data.slurm.attempts import merged
from data.slurm.memory_request import memory_per, memory_per_of_text, recorded_memory_per
from settings import FindingLimits, JudgementSettings

MIB = 1 << 20
NONE = Tres()


def tres(mib: int, gpus: int | None = None, cpus: int | None = None) -> Tres:
    return Tres(cpus=cpus, memory_bytes=mib * MIB, gpus=gpus)


@pytest.mark.parametrize(
    ("node", "cpu", "per_tres", "requested", "allocated", "expected"),
    [
        (32768, None, None, tres(32768), tres(32768), "node"),
        (None, 2000, "", tres(8000), tres(8000), "cpu"),
        (0, None, None, tres(0), tres(256000), None),  # --mem=0
        (None, None, None, NONE, NONE, None),
        (None, None, "gpu:60000", tres(8000, 2), tres(120000, 2), "gpu"),
        (60000, None, "gres/gpu:60000", tres(8000, 2), tres(120000, 2), "gpu"),
        (None, 2000, "gres:gpu:60000", tres(8000, 2), tres(120000, 2), "gpu"),  # 22.05 keeps its default per CPU
        (32768, None, "gpu:60000", tres(32768, 1), tres(32768, 1), "node"),  # the site's default, not used
        (60000, None, "gpu:60000", tres(32768, 1), tres(32768, 1), None),  # 24.11: --mem or --mem-per-cpu
        (None, 2000, "gpu:60000", tres(2000, 1), tres(128000, 4), "cpu"),  # the whole node, by CPU
        (60000, None, "gpu:60000", tres(2000, 1), NONE, None),  # still waiting
        (32768, None, "gpu:60000", tres(32768, 1), NONE, "node"),
        (None, None, "gpu:60000", tres(120000, 2), NONE, "gpu"),
        (None, 2000, "gpu:1000,craynetwork:5", tres(8000, 8), tres(8000, 8), "gpu"),
        (4096, None, "license:60000", tres(4096), tres(4096), "node"),
    ],
)
def test_slurmctlds_fields_say_what_the_memory_was_asked_by(
    node: int | None, cpu: int | None, per_tres: str | None, requested: Tres, allocated: Tres, expected: str | None
) -> None:
    as_bytes = [None if value is None else value * MIB for value in (node, cpu)]
    assert memory_per(*as_bytes, per_tres, requested, allocated) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4Gn", "node"),
        ("2000Mc", "cpu"),
        ("5Gc", "cpu"),
        ("1.5Gn", "node"),
        ("0n", None),
        ("0c", None),
        ("100M", None),  # a total, since 21.08
        ("16G", None),
        ("", None),
        (None, None),
        ("?", None),
        ("Unknown", None),
    ],
)
def test_saccts_suffix_says_it_in_old_versions_only(text: str | None, expected: str | None) -> None:
    assert memory_per_of_text(text) == expected


@pytest.mark.parametrize(
    ("node", "cpu", "expected"), [(32, None, "node"), (None, 2, "cpu"), (0, None, None), (None, None, None)]
)
def test_slurmdbd_names_one_of_two(node: int | None, cpu: int | None, expected: str | None) -> None:
    assert recorded_memory_per(node, cpu) == expected


def by_id(rows: Any) -> dict[int, Job]:
    return {job.job_id: job for job in rows.rows}


def captured(reference: Path, version: str) -> tuple[dict[int, Job], dict[int, Job], dict[int, Job]]:
    folder = reference / "data" / "slurm_captures" / f"slurm-{version}"
    api = {"22.05": "v0.0.38", "24.11": "v0.0.42"}[version]
    live = records_json.jobs((folder / "rest" / f"sock_slurm_{api}_jobs.json").read_bytes(), "mini")
    kept = records_json.accounting_jobs((folder / "sacct.json").read_bytes(), "mini")
    return by_id(live), by_id(kept), by_id(records_text.jobs((folder / "scontrol_job_d.txt").read_text(), "mini"))


# What their sbatch lines say (data/slurm_captures): 1 --mem=32G, 17 --mem=800G, 11 cpu partition, 2 and 36 by default
# per GPU, 62 --mem=9T.
@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_real_jobs_asked_as_their_submit_lines_say(reference: Path, version: str) -> None:
    live, kept, text = captured(reference, version)
    for number, expected in ((2, "gpu"), (11, "cpu"), (13, "cpu"), (36, "gpu"), (62, "node")):
        assert live[number].requested_memory_per == text[number].requested_memory_per == expected
    for number in (1, 17):
        assert merged(live[number], kept[number]).requested_memory_per == "node"
        assert text[number].requested_memory_per in (None, "node")


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_json_and_text_never_contradict_each_other(reference: Path, version: str) -> None:
    live, _, text = captured(reference, version)
    for number in live.keys() & text.keys():
        said = {each[number].requested_memory_per for each in (live, text)} - {None}
        assert len(said) <= 1, number
        if live[number].state == text[number].state:  # captured seconds apart
            assert live[number].derived_exit_code == text[number].derived_exit_code, number
    assert sum(job.derived_exit_code is not None for job in live.values()) > 20


# Job 1: the batch script ends with 1 because its step was killed for memory. Job 2: the job itself was.
def test_a_step_out_of_memory_is_in_the_derived_exit_code(reference: Path) -> None:
    folder = reference / "data" / "slurm_captures" / "oom-22.05"
    live = by_id(records_json.jobs((folder / "squeue.json").read_bytes(), "mini"))
    kept = by_id(records_json.accounting_jobs((folder / "sacct.json").read_bytes(), "mini"))
    table = (folder / "sacct.txt").read_text()
    listed = by_id(records_text.sacct_jobs(table, table.split("\n", 1)[0].split("|"), "|", "mini"))
    for rows in (live, kept, listed):
        assert rows[1].derived_exit_code == ExitCode("SIGNALED", None, 125)
    assert live[1].exit_code == listed[1].exit_code == ExitCode("ERROR", 1)
    assert live[2].derived_exit_code == listed[2].derived_exit_code == ExitCode("SUCCESS", 0)
    assert kept[2].derived_exit_code is None  # 22.05's JSON says SUCCESS for every code without a signal


@pytest.mark.parametrize("number", [1, 2])
def test_a_job_with_a_step_out_of_memory_is_told_so(reference: Path, number: int) -> None:
    folder = reference / "data" / "slurm_captures" / "oom-22.05"
    live = by_id(records_json.jobs((folder / "squeue.json").read_bytes(), "mini"))
    kept = by_id(records_json.accounting_jobs((folder / "sacct.json").read_bytes(), "mini"))
    job = merged(live[number], kept[number])
    limits, judged = FindingLimits(), JudgementSettings()
    report = build_report(job, now=datetime(2026, 11, 29, 15, tzinfo=UTC), limits=judged, findings=limits)
    found = {one.id: one for one in find(JobFacts(report, limits, judged))}
    assert found["out_of_memory"].sbatch == ("- #SBATCH --mem=100M", "+ #SBATCH --mem=1G")


def test_a_running_job_has_no_derived_exit_code() -> None:
    record = {"job_id": 7, "job_state": ["RUNNING"], "nodes": "gpu01", "derived_exit_code": 0}
    (job,) = records_json.jobs({"jobs": [record], "errors": []}, "c").rows
    assert job.derived_exit_code is None
