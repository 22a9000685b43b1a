"""Public reports of what went wrong elsewhere, each with the answer that it gets here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from data.js1 import GpuSummary, NodeSummary, Outcome, Summary, decode, encode
from data.model import Job, JobUsage
from data.report import JobReport, UseSource, build_report
from settings import JudgementSettings
from tests.report.job_builders import GIB, START, a_gpu, a_job, a_reading, gpu_stats


def report(job: Job, *readings: Any, hours: float = 5) -> JobReport:
    return build_report(job, *readings, now=START + timedelta(hours=hours), limits=JudgementSettings())


def no_time_at_all() -> None:
    gpu = GpuSummary(2, 0.0, 0, 40 * GIB)
    comment = encode(Summary((NodeSummary("maestro-3003", 8, 0.0, 0, 62_914_560, (gpu,)),), 0.0, 1))
    job = a_job(gpus=1, nodes=("maestro-3003",), hours=0, state="FAILED")
    found = report(replace(job, admin_comment=comment, usage=JobUsage(cpu_seconds=0.001)))
    assert found.cpu.value is None
    assert len(found.allocated_gpus) == 1
    assert found.hours is not None
    assert found.hours.allocated == 0


def cpu_far_above_one() -> None:
    elapsed = 26 * 60 + 34
    job = a_job(gpus=0, cpus=2, hours=elapsed / 3600)
    found = report(replace(job, usage=JobUsage(cpu_seconds=40 * 3600 + 59 * 60 + 47)))
    assert found.cpu.is_implausible
    assert found.judgements["cpu"].reason == "above 100 %"


def utilization_by_gpu_count() -> None:
    assert report(replace(a_job(gpus=4), usage=JobUsage(gpu_utilization=3.96 / 4))).utilization.value == 0.99
    assert report(replace(a_job(gpus=4), usage=JobUsage(gpu_utilization=3.96))).utilization.value is None


def zero_or_infinite_is_not_measured() -> None:
    for value in (0.0, float("inf")):
        found = report(replace(a_job(), usage=JobUsage(gpu_utilization=value)))
        assert (found.utilization.value, found.gpu_source) == (None, UseSource.NONE)


def running_without_end() -> None:
    assert report(a_job(state="RUNNING"), hours=3).elapsed_seconds == 3 * 3600


def unused_gpu_without_series() -> None:
    found = report(a_job(gpus=2, nodes=("n1", "n2")), a_reading(gpu_stats(a_gpu(0, "n1"), {"gpu_utilization": 1.0})))
    assert found.utilization.is_partial
    assert found.utilization.low == 0.5
    assert len(found.gpus) == 2


def node_without_gpu_keys() -> None:
    first = NodeSummary("bun077", gpus=(GpuSummary(0, 0.003), GpuSummary(1, 0.0)))
    comment = encode(Summary((first, NodeSummary("bun081", 4)), 58_404.1, 2))
    job = a_job(gpus=2, nodes=("bun077", "bun081"), hours=58_404.1 / 3600)
    found = report(replace(job, devices=(), admin_comment=comment), hours=20)
    assert [node.utilization.value for node in found.nodes] == [pytest.approx(0.0015), None]


def memory_without_utilization() -> None:
    comment = encode(
        Summary((NodeSummary("h014", gpus=(GpuSummary(3, None, 875_364_352, 85_899_345_920),)),), 18_000, 1)
    )
    found = report(replace(a_job(gpus=1), admin_comment=comment))
    assert found.utilization.value is None
    assert found.gpu_memory.value == pytest.approx(0.01, abs=0.0005)


def three_words() -> None:
    words = [decode(text).outcome for text in ("JS1:Short", "JS1:None", "JS1:asdfasdf")]
    assert words == [Outcome.TOO_SHORT, Outcome.NO_DATA, Outcome.DAMAGED]


def slice_by_its_engine() -> None:
    device = a_gpu(0, slice_id="1", slice_profile="1g.10gb")
    found = report(a_job(gpus=1), a_reading(gpu_stats(device, {"graphics_engine_activity": 0.42})))
    assert found.utilization.value == pytest.approx(0.42)
    assert found.gpus[0].utilization_metric == "graphics_engine_activity"


ANSWERS: dict[str, Callable[[], None]] = {
    "HB045": no_time_at_all,
    "HB052": cpu_far_above_one,
    "HB055": utilization_by_gpu_count,
    "HB056": zero_or_infinite_is_not_measured,
    "HB057": running_without_end,
    "HB060": unused_gpu_without_series,
    "HB061": node_without_gpu_keys,
    "HB062": memory_without_utilization,
    "HB066": three_words,
    "HB067": slice_by_its_engine,
}
IN_THE_TRACE = {"HB122"}  # tests/efficiency/test_job_trace.py


@pytest.mark.parametrize("answer", [pytest.param(check, id=name) for name, check in ANSWERS.items()])
def test_a_report_from_the_field_has_the_right_answer(answer: Callable[[], None]) -> None:
    answer()


def test_every_report_of_these_areas_has_an_answer(reference: Path) -> None:
    listed = json.loads((reference / "cases/field_reports.json").read_text())["cases"]
    ids = {one["id"] for one in listed if one["area"] in ("efficiency", "js1")}
    assert ids == set(ANSWERS) | IN_THE_TRACE
