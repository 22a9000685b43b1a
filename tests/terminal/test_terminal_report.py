"""The efficiency report as a person reads it in a terminal of 80 columns."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rich.console import Console

from data.efficiency import NOTHING, UNMEASURED, GpuHours, Judgement, Level, Mean, Share
from data.findings import Finding, Severity
from data.model import Device, Job, Tres
from data.queries.job_report import JobAnswer
from data.report import GpuUse, JobReport, MetricUse, NodeUse, UseSource
from terminal.report import report_lines

START = datetime(2026, 3, 1, 8, tzinfo=UTC)
GIB = 1 << 30
JOB = Job(
    "c",
    123,
    "123_7",
    "RUNNING",
    name="train\x1b[31m [red]llm",
    user="alice",
    account="ml",
    partition="gpu",
    submit_time=START,
    start_time=START,
    time_limit_seconds=86_400,
    nodes=("gpu01", "gpu02"),
    allocated=Tres(cpus=32, gpus=2),
)


def gpu(node: str, utilization: float | None) -> GpuUse:
    uses = {} if utilization is None else {"gpu_utilization": MetricUse(utilization, idle_share=0.25)}
    return GpuUse(node, Device(node, 0), "H100", metrics=uses)


def report(**changes: object) -> JobReport:
    gpus = (gpu("gpu01", 0.12), gpu("gpu02", None))
    made = JobReport(
        JOB,
        START + timedelta(hours=5),
        18_000.0,
        2,
        gpus,
        (NodeUse("gpu01", gpu_count=1, utilization=Mean(0.12, 1, 1)), NodeUse("gpu02", gpu_count=1)),
        UseSource.SERIES,
        UseSource.NONE,
        Mean(0.12, 1, 2, 0.06, 0.56),
        Share(5 * GIB, 80 * GIB),
        UNMEASURED,
        Share(214 * GIB, 1000 * GIB),
        Share(18_000, 86_400),
        hours=GpuHours(10.0, 5.0, 0.6, 1.25, 5.0),
        judgements={"gpu": Judgement(Level.NOT_JUDGED, reason="partly measured"), "memory": Judgement(Level.LOW, 0.7)},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def shown(made: JobReport, findings: Sequence[Finding] = (), width: int = 80) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, emoji=False)
    for item in report_lines(JobAnswer(made, tuple(findings)), UTC, width):
        console.print(item)
    return stream.getvalue()


def test_a_report_says_of_how_many_gpus_it_speaks() -> None:
    out = shown(report())
    assert "12 %  1 of 2 GPUs  (partly measured)" in out
    assert "214 of 1 000 GiB  low" in out
    assert "5 h of 1 d" in out


def test_what_was_not_measured_is_no_zero() -> None:
    out = shown(report())
    row = next(text for text in out.splitlines() if text.startswith("CPU utilization"))
    assert row.split() == ["CPU", "utilization", "[", "]", "–", "not", "measured"]
    assert next(text for text in out.splitlines() if text.startswith("gpu02/0")).split()[1:] == ["–"] * 8


def test_a_job_name_cannot_drive_the_terminal_or_the_layout() -> None:
    out = shown(report())
    assert "\x1b" not in out
    assert "[31m [red]llm" in out


def test_lines_fit_80_columns() -> None:
    finding = Finding("x", "t " * 60, "e " * 90, "a " * 90, ("- #SBATCH --gres=gpu:8", "+ #SBATCH --gres=gpu:1"))
    out = shown(report(faults=("f " * 80,), notes=("n " * 80,)), [finding])
    assert max(len(row) for row in out.splitlines()) <= 80


def test_findings_show_the_lines_to_change_and_what_they_cost() -> None:
    finding = Finding(
        "idle", "A GPU is idle", "0 %", "Ask for one.", ("- #SBATCH -G 2", "+ #SBATCH -G 1"), Severity.WASTE, 4.4
    )
    out = shown(report(), [finding])
    assert "! A GPU is idle  (4.4 GPU-h so far)" in out
    assert "    - #SBATCH -G 2\n    + #SBATCH -G 1\n" in out


def test_without_findings_it_says_so() -> None:
    assert "Nothing found to change." in shown(report())


def test_a_pending_job_says_why_it_waits_and_shows_no_meters() -> None:
    job = replace(JOB, state="PENDING", start_time=None, nodes=(), reason="Resources")
    out = shown(report(job=job, gpus=(), nodes=(), utilization=NOTHING, hours=None, elapsed_seconds=None))
    assert "Resources" in out
    assert "GPU utilization" not in out


def test_a_job_without_gpus_has_no_gpu_meters() -> None:
    out = shown(report(gpu_count=0, gpus=()))
    assert "GPU utilization" not in out
    assert "0 GPUs" in out


def test_an_unknown_number_of_gpus_is_said() -> None:
    out = shown(report(gpu_count=None, utilization=Mean(0.5, 1, None)))
    assert "GPU count not known" in out
    assert "1 of an unknown number of GPUs" in out


def test_numbers_that_must_not_be_trusted_are_marked() -> None:
    assert "Not to be trusted: mapping disagrees" in shown(report(faults=("mapping disagrees",)))


def test_a_het_job_is_shown_part_by_part() -> None:
    parts = tuple(report(job=replace(JOB, display_id=name)) for name in ("9+0", "9+1"))
    out = shown(report(components=parts))
    assert "Job 9+0" in out
    assert "Job 9+1" in out
