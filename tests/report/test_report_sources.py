"""Where the numbers of a finished job come from, in order: series, JS1, Slurm, none."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from data.js1 import GpuSummary, NodeSummary, Outcome, Summary, encode
from data.model import Job, JobUsage
from data.report import JobReport, UseSource, build_report, combine
from settings import JudgementSettings
from tests.report.job_builders import GIB, START, a_gpu, a_job, a_reading, gpu_stats, host_stats

LIMITS = JudgementSettings()


def report(job: Job, *readings: Any) -> JobReport:
    return build_report(job, *readings, now=START + timedelta(days=1), limits=LIMITS)


def summary(*nodes: NodeSummary, hours: float = 5.0, gpus: int | None = None) -> str:
    return encode(Summary(nodes, hours * 3600, gpus))


def test_a_summary_stands_in_for_absent_series() -> None:
    gpus = (GpuSummary(0, 0.842, 60 * GIB, 80 * GIB), GpuSummary(1, 0.0, 2 * GIB, 80 * GIB))
    comment = summary(NodeSummary("h014", 8, 72_000, 16 * GIB, 64 * GIB, gpus), gpus=2)
    found = report(replace(a_job(gpus=2), admin_comment=comment), a_reading())
    assert found.gpu_source is UseSource.JS1
    assert found.host_source is UseSource.JS1
    assert found.utilization.value == pytest.approx(0.421)
    assert found.cpu.value == pytest.approx(0.5)
    assert found.memory.value == pytest.approx(0.25)
    assert found.gpu_memory.value == pytest.approx(62 / 160)
    assert found.hours is not None
    assert found.hours.used == pytest.approx(5 * 0.842)
    assert (found.hours.idle, found.hours.idle_coverage) == (5.0, 0.5)
    assert [gpu.idle_share for gpu in found.gpus] == [None, 1.0]


def test_series_come_before_the_summary() -> None:
    comment = summary(NodeSummary("h014", gpus=(GpuSummary(0, 0.1),)), gpus=1)
    job = replace(a_job(gpus=1), admin_comment=comment)
    found = report(job, a_reading(gpu_stats(a_gpu(0), {"gpu_utilization": 0.9})))
    assert (found.gpu_source, found.utilization.value) == (UseSource.SERIES, 0.9)


def test_slurms_own_utilization_comes_last_and_names_no_gpu() -> None:
    job = replace(a_job(gpus=4), usage=JobUsage(gpu_utilization=0.99))
    found = report(job)
    assert found.gpu_source is UseSource.SLURM
    assert any("the highest sample of each task" in note for note in found.notes)
    assert found.utilization.value == 0.99
    assert found.hours is not None
    assert found.hours.used == pytest.approx(19.8)
    assert found.hours.idle is None
    assert [gpu.utilization for gpu in found.gpus] == [None] * 4


@pytest.mark.parametrize("value", [0.0, float("inf"), float("nan"), 3.96, -1.0])
def test_slurms_zero_and_impossible_utilization_are_not_measured(value: float) -> None:
    found = report(replace(a_job(gpus=4), usage=JobUsage(gpu_utilization=value)))
    assert found.gpu_source is UseSource.NONE
    assert found.utilization.value is None


def test_slurms_step_numbers_give_cpu_and_memory_of_one_node() -> None:
    usage = JobUsage(cpu_seconds=48 * 5 * 3600, memory_used_bytes=100 * GIB)
    found = report(replace(a_job(), usage=usage))
    assert found.host_source is UseSource.SLURM
    assert found.cpu.value == pytest.approx(0.5)
    assert found.memory.value == pytest.approx(0.1)
    assert any("largest step" in note for note in found.notes)


def test_slurms_peak_of_one_step_is_no_share_of_several_nodes() -> None:
    job = replace(a_job(nodes=("n1", "n2")), usage=JobUsage(cpu_seconds=1000, memory_used_bytes=100 * GIB))
    assert report(job).memory.value is None


@pytest.mark.parametrize(
    ("comment", "outcome", "words"),
    [
        ("JS1:Short", Outcome.TOO_SHORT, "too short"),
        ("JS1:None", Outcome.NO_DATA, "no data"),
        ("JS1:asdfasdf", Outcome.DAMAGED, "damaged"),
    ],
)
def test_three_words_give_three_messages_and_no_zero(comment: str, outcome: Outcome, words: str) -> None:
    found = report(replace(a_job(), admin_comment=comment))
    assert found.summary_outcome is outcome
    assert any(words in note for note in found.notes)
    assert found.utilization.value is None


def test_a_node_without_gpu_keys_has_no_gpu_data_and_the_job_is_shown() -> None:
    # One node reports both GPUs, the other none: a job that was requeued.
    gpus = (GpuSummary(0, 0.003, GIB, 40 * GIB), GpuSummary(1, 0.0, GIB, 40 * GIB))
    comment = summary(
        NodeSummary("bun077", 4, 100, GIB, 4 * GIB, gpus), NodeSummary("bun081", 4, 100, GIB, 4 * GIB), gpus=2
    )
    job = replace(a_job(gpus=2, nodes=("bun077", "bun081")), devices=(), admin_comment=comment)
    found = report(job)
    first, second = found.nodes
    assert first.utilization.value == pytest.approx(0.0015)
    assert second.utilization.value is None
    assert second.gpus == ()


def test_a_summary_of_a_cgroup_without_a_limit_takes_slurms_number() -> None:
    # cgroup v1 reports 2^63 - 4096 where memory is not constrained, and the summary keeps it.
    comment = summary(NodeSummary("h014", 96, 100, 100 * GIB, 2**63 - 4096))
    assert report(replace(a_job(memory_gib=1000), admin_comment=comment)).memory.value == pytest.approx(0.1)


def test_memory_without_utilization_is_memory_without_utilization() -> None:
    comment = summary(NodeSummary("h014", gpus=(GpuSummary(3, None, 875_364_352, 85_899_345_920),)), gpus=1)
    found = report(replace(a_job(gpus=1), admin_comment=comment))
    assert found.utilization.value is None
    assert found.gpu_memory.value == pytest.approx(0.0102, abs=0.0001)
    assert found.hours is not None
    assert found.hours.used is None


def test_one_of_two_gpus_in_a_summary_is_partial() -> None:
    gpus = (GpuSummary(2, None, GIB, 80 * GIB), GpuSummary(3, 0.095, GIB, 80 * GIB))
    found = report(replace(a_job(gpus=2), admin_comment=summary(NodeSummary("h014", gpus=gpus), gpus=2)))
    assert (found.utilization.measured, found.utilization.total) == (1, 2)
    assert found.utilization.is_partial


def test_a_summary_of_another_span_is_a_fault() -> None:
    comment = summary(NodeSummary("h014", gpus=(GpuSummary(0, 0.0),)), hours=1, gpus=1)
    found = report(replace(a_job(gpus=1, hours=5), admin_comment=comment))
    assert "another attempt" in found.faults[0]
    assert found.judgements["gpu"].reason == "mapping disagrees"


def test_the_summary_counts_gpus_where_slurm_does_not() -> None:
    comment = summary(NodeSummary("h014", gpus=(GpuSummary(0, 0.5),)), gpus=2)
    found = report(replace(a_job(gpus=None), devices=(), admin_comment=comment))
    assert (found.gpu_count, found.utilization.measured, found.utilization.total) == (2, 1, 2)


def test_every_recorded_summary_becomes_a_report(reference: Path) -> None:
    for entry in json.loads((reference / "data/js1/js1_strings.json").read_text()):
        decoded = entry["decoded"] or {"nodes": {}, "total_time": 3600}
        hours = decoded["total_time"] / 3600
        nodes = tuple(host.split(".")[0] for host in decoded["nodes"]) or ("n1",)
        gpus = sum(len(values.get("gpu_total_memory", {})) for values in decoded["nodes"].values())
        job = replace(a_job(hours=hours, gpus=gpus, nodes=nodes), admin_comment=entry["js1"])
        found = report(job)
        assert len(found.allocated_gpus) == gpus
        assert found.faults == ()
        use = [v for values in decoded["nodes"].values() for v in values.get("gpu_utilization", {}).values()]
        expected = pytest.approx(sum(use) / len(use) / 100) if use else None
        assert found.utilization.value == expected
        assert found.utilization.measured == len(use)


def het_reports() -> list[JobReport]:
    jobs = []
    for offset, node, gpus in ((0, "n1", 1), (1, "n2", 3)):
        more = {"job_id": 15 + offset, "display_id": f"15+{offset}", "het_job_id": 15, "het_offset": offset}
        jobs.append(a_job(gpus=gpus, nodes=(node,), cpus=10, memory_gib=100, **more))
    readings = []
    for job, value in zip(jobs, (1.0, 0.2), strict=True):
        label, node = str(job.job_id), job.nodes[0]
        stats = [
            stat
            for index in range(job.allocated.gpus or 0)
            for stat in gpu_stats(a_gpu(index, node), {"gpu_utilization": value}, label=label)
        ]
        host = host_stats(node, cores=10, busy=5, peak_gib=50, given_gib=100, label=label)
        readings.append(a_reading(stats, host))
    return [report(job, reading) for job, reading in zip(jobs, readings, strict=True)]


def test_components_of_a_het_job_are_counted_once_each() -> None:
    parts = het_reports()
    whole = combine([*parts, parts[1]], limits=LIMITS)
    assert whole.gpu_count == 4
    assert whole.utilization.value == pytest.approx((1.0 + 3 * 0.2) / 4)
    assert whole.hours is not None
    assert whole.hours.allocated == pytest.approx(20)
    assert whole.cpu.value == pytest.approx(0.5, rel=1e-3)
    assert [part.job.display_id for part in whole.components] == ["15+0", "15+1"]
    assert whole.job.display_id == "15+0"
    assert whole.metrics["gpu_utilization"].measured == 4


def test_an_unmeasured_component_makes_the_whole_partial() -> None:
    first, second = het_reports()
    whole = combine([first, report(second.job)], limits=LIMITS)
    assert (whole.utilization.measured, whole.utilization.total) == (1, 4)
    assert whole.utilization.low == pytest.approx(0.25)
    assert whole.gpu_source is UseSource.SERIES
    assert whole.judgements["gpu"].reason == "partly measured"


def test_parts_of_different_jobs_are_not_combined() -> None:
    with pytest.raises(ValueError, match="not of one job"):
        combine([report(a_job()), report(a_job(job_id=1, display_id="1"))], limits=LIMITS)
    with pytest.raises(ValueError, match="no report"):
        combine([], limits=LIMITS)
