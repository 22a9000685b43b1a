"""What finished jobs wasted by kind: numbers that can be added up by hand, and those of Job Defense Shield's cases."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ibis
import pytest

from data.model import Role, Viewer
from data.queries.history import waste as asking
from data.queries.history.compiled import named_table
from data.queries.history.waste import Waste, WasteReport, waste
from data.queries.history.waste_kinds import WASTE_KINDS
from policy.findings_plan import is_beyond
from settings import NotifyKindSettings
from tests.queries.history.attempts import Attempt, at, sources_of, write
from tests.queries.history.test_history_engines import asks

STAFF = Viewer("root", Role.STAFF)
GIB = float(1 << 30)
ALL = tuple(WASTE_KINDS)


def devices(*use: float | None, weight: float = 1.0, **fields: float) -> list[dict[str, Any]]:
    return [
        {"node": "gpu01", "index": n, "weight": weight, "gpu_utilization": one, **fields} for n, one in enumerate(use)
    ]


def without_gpus(number: int, user: str, **more: float) -> Attempt:
    return Attempt(number, 0, 1, gpus=0, used=None, user=user, more=more)


def answered(
    folder: Path, attempts: Iterable[Attempt], until: float = 240, viewer: Viewer = STAFF, kinds: tuple[str, ...] = ALL
) -> WasteReport:
    return waste(viewer, sources_of(write(folder, attempts)), at(0), at(until), kinds)


def found(report: WasteReport) -> dict[tuple[str, str], Waste]:
    return {(one.kind, one.user): one for one in report.rows}


def test_each_kind_adds_up_what_it_says(tmp_path: Path) -> None:
    cpu: dict[str, Any] = {"gpus": 0, "used": None}
    report = answered(
        tmp_path,
        [
            Attempt(1, 0, 10, gpus=4, used=0.2, more={"devices": devices(0.8, 0.0, 0.0, None)}),
            Attempt(2, 0, 10, gpus=2, used=1.0, more={"devices": devices(1.0, 1.0)}, findings=("fragmented",)),
            Attempt(
                3,
                0,
                10,
                gpus=1,
                findings=("too_powerful", "cores_per_gpu", "memory_per_gpu"),
                more={"memory_used_bytes": GIB},
            ),
            Attempt(4, 0, 10, **cpu, more={"cpu_seconds": 36_000.0}, findings=("serial", "cpu_fragmented")),
            Attempt(
                5,
                0,
                10,
                **cpu,
                findings=("unused_nodes",),
                more={"memory_used_bytes": GIB, "memory_allocated_bytes": 5 * GIB, "cpu_seconds": 18_000.0},
            ),
            Attempt(6, 0, 10, **cpu, more={"time_limit_seconds": 180_000.0}),
            Attempt(7, 0, 10, gpus=2, used=1.0, more={"time_limit_seconds": 72_000.0, "gpu_weight": 2.0}),
        ],
    )
    amounts = {kind: (one.amount, one.whole, one.jobs, one.judged) for (kind, _), one in found(report).items()}
    assert amounts == {
        "zero_gpu_hours": (20.0, 60.0, 1, 2),
        "low_gpu_utilization": (32.0 + 5.0, 90.0, 2, 4),
        "low_cpu_utilization": (70.0 + 75.0, 160.0, 2, 2),
        "too_powerful": (10.0, 90.0, 1, 4),
        "cores_per_gpu": (10.0, 90.0, 1, 4),
        "memory_per_gpu": (10.0, 10.0, 1, 1),
        "fragmented": (20.0, 90.0, 1, 4),
        "cpu_fragmented": (80.0, 240.0, 1, 3),
        "gpu_time_limit": (20.0, 40.0, 1, 1),
        "cpu_time_limit": (320.0, 400.0, 1, 1),
        "excess_memory": (40.0, 50.0, 1, 1),
        "serial": (80.0, 160.0, 1, 2),
        "unused_nodes": (80.0, 160.0, 1, 2),
    }
    assert [one.kind for one in report.rows] == list(ALL)
    (job,) = found(report)[("zero_gpu_hours", "alice")].examples
    assert (job.job_id, job.gpus, job.amount, job.share, job.ended_at) == ("1", 4, 20.0, 0.5, at(10))


def test_a_job_of_which_that_is_not_known_by_which_it_is_judged_counts_in_no_part_of_it(tmp_path: Path) -> None:
    of_all = {"devices": devices(None, None), "cpu_seconds": None}  # one mean of all GPUs, as Slurm's accounting has
    findings = ("too_powerful", "memory_per_gpu", "serial", "unused_nodes")
    attempts = [
        Attempt(1, 0, 10, gpus=2, used=0.3, more=of_all, findings=findings),
        Attempt(2, 0, 10, gpus=2, used=None, more=of_all, findings=findings),
        Attempt(3, 0, 10, gpus=0, used=None, more=of_all, findings=findings),
    ]
    kinds = ("zero_gpu_hours", *findings)
    report = answered(tmp_path, attempts, kinds=kinds)
    assert [(one.kind, one.whole, one.judged) for one in report.rows] == [("too_powerful", 20.0, 1)]


def test_an_idle_slice_counts_by_its_weight_and_by_gr(tmp_path: Path) -> None:
    slices = devices(None, None, weight=1 / 7, graphics_engine_activity=0.0005)
    slices[1]["graphics_engine_activity"] = 0.5
    report = answered(tmp_path, [Attempt(1, 0, 7, gpus=2, more={"devices": slices})], kinds=("zero_gpu_hours",))
    assert report.rows[0].amount == pytest.approx(1.0)


def test_only_attempts_that_ended_in_the_range_and_were_measured_count(tmp_path: Path) -> None:
    report = answered(
        tmp_path,
        [
            Attempt(1, -20, -1, used=0.1),
            Attempt(2, -20, 0, used=0.1),
            Attempt(3, 0, 24, used=0.1),
            Attempt(4, 0, None, until=24, used=0.1),
            Attempt(5, 0, 10, used=None),
            Attempt(6, 0, 10, gpus=None, used=None),
            Attempt(7, 0, 5, gpus=8, used=None, more={"flags": ["damaged summary"]}),
            Attempt(8, 0, 5, gpus=0, used=None),
        ],
        until=24,
    )
    (low,) = report.rows
    assert (low.kind, low.judged, low.amount) == ("low_gpu_utilization", 1, pytest.approx(18.0))
    assert [(one.job_id, one.gpu_hours, one.why) for one in report.unread] == [
        ("7", 40.0, "its summary is damaged"),
        ("5", 10.0, "its GPUs were not measured"),
    ]
    assert report.unread_jobs == 2


def test_a_user_reads_only_what_they_may_see(tmp_path: Path) -> None:
    attempts = [
        Attempt(1, 0, 10, used=0.1),
        Attempt(2, 0, 10, used=0.1, user="bob"),
        Attempt(3, 0, 9, used=None, user="bob"),
    ]
    report = answered(tmp_path, attempts, viewer=Viewer("alice", Role.USER))
    assert ({one.user for one in report.rows}, report.unread_jobs) == ({"alice"}, 0)
    only = waste(STAFF, sources_of(tmp_path), at(0), at(99), ALL, users=frozenset({"bob"}))
    assert {one.user for one in only.rows} == {"bob"}


def test_the_jobs_that_show_it_best_come_first(tmp_path: Path) -> None:
    attempts = [Attempt(number, 0, number, used=0.5) for number in range(1, 8)]
    sources = sources_of(write(tmp_path, attempts))
    (row,) = waste(STAFF, sources, at(0), at(24), ("low_gpu_utilization",), 3).rows
    assert [job.job_id for job in row.examples] == ["7", "6", "5"] and row.jobs == 7


def case(reference: Path, name: str) -> Any:
    cases = json.loads((reference / "cases" / "jobstats.json").read_text())["cases"]
    return next(one for one in cases if one["id"] == name)


def test_job_defense_shields_hours_at_zero(reference: Path, tmp_path: Path) -> None:
    given = case(reference, "alert-zero-gpu-hours")
    attempts = [
        Attempt(
            int(job["id"]),
            0,
            job["seconds"] / 3600,
            gpus=job["gpus"],
            user=job["user"],
            more={"devices": devices(*(use / 100 for use in job["gpu_util"]))},
        )
        for job in given["input"]["jobs"]
    ]
    rows = found(answered(tmp_path, attempts, until=600))
    for expected in given["expect"]["users"]:
        row = rows[("zero_gpu_hours", expected["user"])]
        assert row.amount == pytest.approx(expected["gpu_hours_at_zero"]) and row.jobs == expected["jobs"]
        assert sorted(job.job_id for job in row.examples) == expected["jobids"].split(",")


@pytest.mark.parametrize(
    ("name", "kind", "width"),
    [("alert-time-cpu", "cpu_time_limit", "cores"), ("alert-time-gpu", "gpu_time_limit", "gpus")],
)
def test_job_defense_shields_unused_hours_of_time_limits(
    name: str, kind: str, width: str, reference: Path, tmp_path: Path
) -> None:
    given = case(reference, name)
    attempts = [
        Attempt(
            number,
            0,
            1,
            gpus=job.get("gpus", 0),
            user=job["user"],
            used=None,
            more={
                "elapsed_seconds": job["elapsed_h"] * 3600.0,
                "time_limit_seconds": job["limit_h"] * 3600.0,
                "cores": job.get("cores", 1),
                "gpu_weight": float(job.get("gpus", 0)),
            },
        )
        for number, job in enumerate(given["input"]["jobs"])
    ]
    rows = found(answered(tmp_path, attempts))
    for expected in given["expect"]["flagged"]:
        row = rows[(kind, expected["user"])]
        assert (row.amount, row.judged) == (pytest.approx(expected["unused_hours"]), expected["jobs"])


def test_job_defense_shields_unused_memory(reference: Path, tmp_path: Path) -> None:
    given = case(reference, "alert-excess-mem")
    attempts = [
        without_gpus(
            number,
            job["user"],
            elapsed_seconds=job["hours"] * 3600.0,
            memory_used_bytes=job["used_gib"] * GIB,
            memory_allocated_bytes=job["alloc_gib"] * GIB,
        )
        for number, job in enumerate(given["input"]["jobs"])
    ]
    rows = found(answered(tmp_path, attempts))
    for expected in given["expect"]["flagged"]:
        row = rows[("excess_memory", expected["user"])]
        assert row.amount / 1000 == pytest.approx(expected["unused_tb_h"], abs=0.51)
        assert 1 - (row.ratio or 0) == pytest.approx(expected["ratio"], abs=0.0051)


def test_job_defense_shields_low_cpu(reference: Path, tmp_path: Path) -> None:
    given = case(reference, "alert-low-cpu")
    attempts = [
        without_gpus(
            number,
            job["user"],
            elapsed_seconds=float(job["elapsed"]),
            cores=job["cores"],
            cpu_seconds=job["cpu_time"],
        )
        for number, job in enumerate(given["input"]["jobs"])
    ]
    row = found(answered(tmp_path, attempts))[("low_cpu_utilization", "u1")]
    (expected,) = given["expect"]["flagged"]
    assert round(row.whole) == expected["cpu_hours"]
    assert round((1 - (row.ratio or 0)) * 100) == expected["eff_pct"]
    assert round((row.share_of_all or 0) * 100) == expected["proportion_pct"]


@pytest.mark.parametrize("dialect", ["trino", "clickhouse", "postgres"])
def test_the_questions_compile_for_the_engines_that_a_site_moves_to(dialect: str) -> None:
    question = asks()
    cases = asking._cases(question, ALL)
    kept = named_table(cases.schema().to_pyarrow(), "waste")
    for made in (cases, asking._sums(kept), asking._best(kept, 5), asking._unread(asking._ended(question))):
        assert "SELECT" in str(ibis.to_sql(made, dialect=dialect))


def test_job_defense_shields_low_gpu(reference: Path, tmp_path: Path) -> None:
    given = case(reference, "alert-low-gpu")
    attempts = [
        Attempt(
            number,
            0,
            job["hours"],
            gpus=job["gpus"],
            user=job["user"],
            used=None if job["gpu_util"] is None else sum(job["gpu_util"]) / len(job["gpu_util"]) / 100,
        )
        for number, job in enumerate(given["input"]["jobs"])
    ]
    report = answered(tmp_path, attempts, kinds=("low_gpu_utilization",))
    limits = NotifyKindSettings(least=given["input"]["config"]["absolute_thres_hours"], ratio=0.75)
    assert [one.user for one in report.rows if is_beyond(one, limits)] == given["expect"]["flagged"]
    assert [(one.user, one.gpu_hours) for one in report.unread] == [("u3", 30.0)]
