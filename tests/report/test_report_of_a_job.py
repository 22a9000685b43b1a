"""Reports of running and finished jobs from window statistics."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from data.efficiency import Level
from data.model import JobUsage, JoinMethod, WindowReading
from data.report import JobReport, UseSource, build_report
from settings import JudgementSettings
from tests.report.job_builders import GIB, START, a_gpu, a_job, a_reading, a_series, gpu_stats, host_stats

LIMITS = JudgementSettings()


def report(job: Any, *readings: WindowReading | None, hours: float = 5.0, **more: Any) -> JobReport:
    return build_report(job, *readings, now=START + timedelta(hours=hours), limits=LIMITS, **more)


def use(value: float, **more: float) -> dict[str, float]:
    return {"gpu_utilization": value} | more


def test_the_job_of_the_picture() -> None:
    hours = 5 + 14 / 60
    values = [0.105, 0.111, 0, 0, 0, 0, 0, 0]
    stats = [
        stat
        for index, value in enumerate(values)
        for stat in gpu_stats(
            a_gpu(index),
            use(value, gpu_memory_used_bytes=(57.1 if value else 0.5) * GIB, gpu_memory_total_bytes=80 * GIB),
            hours=hours,
            idle=0.83 if value else 1.0,
        )
    ]
    host = host_stats("h014", cores=96, busy=8.6, peak_gib=214, given_gib=1000, hours=hours)
    found = report(a_job(hours=hours, state="RUNNING"), a_reading(stats, host, hours=hours), hours=hours)

    assert found.utilization.value == pytest.approx(0.027)
    assert (found.utilization.measured, found.utilization.total) == (8, 8)
    assert found.gpu_memory.value == pytest.approx((2 * 57.1 + 6 * 0.5) / 640)
    assert found.cpu.value == pytest.approx(8.6 / 96, rel=1e-3)
    assert found.memory.value == pytest.approx(0.214)
    assert found.time.value == pytest.approx(hours / 24)
    assert found.hours is not None
    assert found.hours.allocated == pytest.approx(41.9, abs=0.05)
    assert found.hours.used == pytest.approx(1.1, abs=0.05)
    assert found.coverage == 1.0
    assert found.join is JoinMethod.JOB_LABEL
    assert found.gpu_source is UseSource.SERIES
    assert found.judgements["gpu"].level is Level.BAD
    assert found.judgements["memory"].level is Level.LOW
    assert found.judgements["time"].reason == "still running"
    assert found.faults == ()


def test_an_allocated_gpu_without_a_series_is_there_and_never_makes_the_mean_whole() -> None:
    job = a_job(gpus=2, nodes=("n1", "n2"))
    found = report(job, a_reading(gpu_stats(a_gpu(0, "n1"), use(1.0))))
    assert [gpu.node for gpu in found.gpus] == ["n1", "n2"]
    assert found.gpus[1].utilization is None
    assert found.gpus[1].coverage == 0.0
    assert found.utilization.is_partial
    assert (found.utilization.measured, found.utilization.total) == (1, 2)
    assert (found.utilization.low, found.utilization.high) == (0.5, 1.0)
    assert found.coverage == 0.0
    assert found.hours is not None
    assert found.hours.not_measured == pytest.approx(5.0)
    node = found.nodes[1]
    assert (node.gpu_count, node.utilization.value) == (1, None)


def test_every_gpu_is_there_even_without_any_reading() -> None:
    found = report(a_job())
    assert len(found.gpus) == 8
    assert found.utilization.value is None
    assert found.gpu_source is UseSource.NONE
    assert found.hours is not None
    assert (found.hours.used, found.hours.measured) == (None, 0.0)
    assert found.judgements["gpu"].reason == "not measured"


def test_a_device_beyond_what_slurm_gave_is_flagged_and_left_out() -> None:
    stats = [stat for index in range(3) for stat in gpu_stats(a_gpu(index), use(0.5 if index < 2 else 0.0))]
    found = report(a_job(gpus=2), a_reading(stats))
    assert [gpu.is_allocated for gpu in found.gpus] == [True, True, False]
    assert found.utilization.value == 0.5
    assert "h014/2" in found.faults[0]
    assert found.judgements["gpu"].reason == "mapping disagrees"
    assert found.hours is not None
    assert found.hours.allocated == pytest.approx(10.0)


def test_a_device_on_a_node_that_slurm_did_not_give_is_flagged() -> None:
    found = report(a_job(gpus=1), a_reading(gpu_stats(a_gpu(0, "x9"), use(0.5))))
    assert {gpu.node: gpu.is_allocated for gpu in found.gpus} == {"h014": True, "x9": False}
    assert found.utilization.value is None


def test_more_samples_than_time_allows_are_a_fault() -> None:
    found = report(a_job(gpus=1), a_reading(gpu_stats(a_gpu(0), use(0.5), coverage=2.0)))
    assert "h014/0 with up to 200 % of the samples" in found.faults[0]
    assert found.hours is not None
    assert found.hours.measured == pytest.approx(5.0)


def test_half_the_samples_are_half_the_hours() -> None:
    found = report(a_job(gpus=1), a_reading(gpu_stats(a_gpu(0), use(0.8), coverage=0.5)))
    assert found.coverage == pytest.approx(0.5)
    assert found.hours is not None
    assert found.hours.measured == pytest.approx(2.5)
    assert found.hours.used == pytest.approx(2.0)
    assert found.judgements["gpu"].reason == "partly measured"


def test_devices_are_found_by_slurm_indices_where_no_label_names_the_job() -> None:
    stats = [stat for index in range(4) for stat in gpu_stats(a_gpu(index), use(index / 10), label=None)]
    found = report(a_job(gpus=2, indices=True), a_reading(stats))
    assert found.join is JoinMethod.INDEX
    assert [gpu.utilization for gpu in found.gpus] == [0.0, 0.1]


def test_the_inventory_comes_before_the_exporters_own_index() -> None:
    stats = [stat for index in range(4) for stat in gpu_stats(a_gpu(index), use(index / 10), label=None)]
    inventory = {("h014", 0): a_gpu(3), ("h014", 1): a_gpu(2)}
    found = report(a_job(gpus=2, indices=True), a_reading(stats), inventory=inventory)
    assert sorted(gpu.utilization or 0.0 for gpu in found.gpus) == pytest.approx([0.2, 0.3])


def test_devices_of_other_jobs_are_not_taken_by_index() -> None:
    stats = gpu_stats(a_gpu(0), use(0.9), label="999")
    found = report(a_job(gpus=1, indices=True), a_reading(stats))
    assert found.utilization.value is None


def test_without_label_and_index_the_node_gives_an_estimate_that_is_marked() -> None:
    stats = [stat for index in range(4) for stat in gpu_stats(a_gpu(index), use(index / 10), label=None)]
    found = report(a_job(gpus=2), a_reading(stats))
    assert found.join is JoinMethod.NODE_ESTIMATE
    assert [gpu.device for gpu in found.gpus] == [None, None]
    assert found.utilization.value == pytest.approx(0.15)
    assert found.judgements["gpu"].reason == "node-level estimate"


def test_a_device_with_two_jobs_at_once_is_shared_and_its_samples_count_once() -> None:
    device = a_gpu(0)
    stats = [*gpu_stats(device, use(0.6)), *gpu_stats(device, use(0.6), label="777")]
    found = report(a_job(gpus=1), a_reading(stats))
    assert found.gpus[0].is_shared
    assert found.coverage == 1.0
    assert found.judgements["gpu"].reason == "GPU shared with other jobs"


def test_the_neighbors_samples_at_the_edge_do_not_make_a_device_shared() -> None:
    device = a_gpu(0)
    stats = [*gpu_stats(device, use(0.6)), *gpu_stats(device, use(0.6), label="777", hours=1 / 120)]
    assert not report(a_job(gpus=1), a_reading(stats)).gpus[0].is_shared


def test_a_shard_shares_its_gpu_and_adds_none() -> None:
    job = a_job(gpus=0)
    job = replace(job, devices=(replace(job.devices[0], shards=1),), allocated=replace(job.allocated, shards=1))
    found = report(job, a_reading(gpu_stats(a_gpu(0), use(0.4))))
    assert found.faults == ()
    assert found.gpus[0].is_shared
    assert found.utilization.value == 0.4
    assert found.hours is not None
    assert found.hours.allocated == 0.0
    second = report(job, a_reading(gpu_stats(a_gpu(0), use(0.4)), gpu_stats(a_gpu(1), use(0.4))))
    assert [gpu.is_allocated for gpu in second.gpus] == [True, False]


def test_a_slice_is_judged_by_gr_and_weighs_its_share() -> None:
    device = a_gpu(0, slice_id="3", slice_profile="1g.10gb")
    stats = gpu_stats(device, {"gpu_utilization": 0.0, "graphics_engine_activity": 0.42})
    found = report(a_job(gpus=1, gpu_type="1g.10gb"), a_reading(stats))
    assert found.utilization.value == 0.42
    assert found.gpus[0].utilization_metric == "graphics_engine_activity"
    assert found.hours is not None
    assert found.hours.allocated == pytest.approx(5 / 7)
    assert found.device_hours == pytest.approx(5.0)


def test_an_unmeasured_slice_weighs_its_share_too() -> None:
    found = report(a_job(gpus=7, gpu_type="1g.10gb"))
    assert found.hours is not None
    assert found.hours.allocated == pytest.approx(5.0)


def test_whole_card_metrics_of_slices_count_once() -> None:
    slices = [a_gpu(0, slice_id=str(number), slice_profile="1g.10gb") for number in (7, 8)]
    other = a_gpu(1, slice_id="7", slice_profile="1g.10gb")
    stats = [stat for one in slices for stat in gpu_stats(one, {"graphics_engine_activity": 0.5, "power_watts": 300})]
    stats += gpu_stats(other, {"graphics_engine_activity": 0.5, "power_watts": 100})
    found = report(a_job(gpus=3, gpu_type="1g.10gb"), a_reading(stats))
    assert found.metrics["power_watts"].value == 200
    assert found.metrics["graphics_engine_activity"].measured == 3


def test_an_unknown_gpu_count_is_not_zero_and_gives_no_hours() -> None:
    job = a_job(gpus=None)
    found = report(job, a_reading(gpu_stats(a_gpu(0), use(0.5))))
    assert found.gpu_count is None
    assert found.hours is None
    assert found.device_hours is None
    assert found.utilization.total is None
    assert any("AccountingStorageTRES" in note for note in found.notes)


def test_a_window_that_begins_before_the_attempt_is_left_out() -> None:
    early = a_reading(gpu_stats(a_gpu(0), use(0.5)), start=START - timedelta(hours=2))
    found = report(a_job(gpus=1), early)
    assert found.utilization.value is None
    assert "before this attempt" in found.faults[0]


def test_a_window_over_the_end_of_a_job_expects_only_its_own_samples() -> None:
    reading = a_reading(gpu_stats(a_gpu(0), use(0.5), hours=5), hours=9)
    found = report(a_job(gpus=1, hours=5), reading, hours=9)
    assert found.coverage == 1.0


def test_a_window_over_part_of_a_job_measures_that_part_of_the_hours() -> None:
    start = START + timedelta(hours=4)
    reading = a_reading(gpu_stats(a_gpu(0), use(0.5), hours=1), hours=1, start=start)
    found = report(a_job(gpus=1, hours=5), reading)
    assert found.coverage == 1.0
    assert found.hours is not None
    assert found.hours.measured == pytest.approx(1.0)
    assert found.hours.not_measured == pytest.approx(4.0)
    assert found.window_share == pytest.approx(0.2)
    assert found.judgements["gpu"].reason == "only part of the run was read"


def test_many_faults_are_one_sentence() -> None:
    stats = [stat for index in range(16) for stat in gpu_stats(a_gpu(index), use(0.5))]
    (fault,) = report(a_job(gpus=8), a_reading(stats)).faults
    assert "h014/8, h014/9, h014/10, h014/11 and 4 more" in fault


def test_an_unknown_interval_leaves_coverage_and_used_hours_unknown() -> None:
    found = report(a_job(gpus=1), a_reading(gpu_stats(a_gpu(0), use(0.5)), interval=None))
    assert found.utilization.value == 0.5
    assert found.coverage is None
    assert found.hours is not None
    assert found.hours.used is None
    assert any("interval" in note for note in found.notes)


def test_a_job_under_two_intervals_is_too_short_and_not_partial() -> None:
    found = report(a_job(gpus=1, hours=50 / 3600), a_reading(hours=50 / 3600), hours=1)
    assert found.is_too_short
    assert found.coverage is None
    assert found.judgements["gpu"].level is Level.NOT_JUDGED


def test_nothing_is_judged_under_five_minutes() -> None:
    hours = 299 / 3600
    found = report(a_job(gpus=1, hours=hours), a_reading(gpu_stats(a_gpu(0), use(0), hours=hours), hours=hours))
    assert {judgement.level for judgement in found.judgements.values()} == {Level.NOT_JUDGED}


def test_a_running_job_counts_to_now() -> None:
    assert report(a_job(state="RUNNING"), hours=2).elapsed_seconds == 7200


def test_a_pending_job_has_a_report_without_numbers() -> None:
    job = replace(a_job(state="PENDING"), start_time=None, end_time=None, nodes=(), devices=())
    found = report(job, a_reading())
    assert (found.elapsed_seconds, found.hours, found.time.value) == (None, None, None)
    assert found.judgements["gpu"].reason == "not started"
    assert found.faults == ()


def test_time_suspended_is_left_out_of_hours_and_of_judgements() -> None:
    job = replace(a_job(gpus=1, state="SUSPENDED"), end_time=None, elapsed_seconds=None)
    job = replace(job, suspend_time=START + timedelta(hours=4))
    found = report(job, a_reading(gpu_stats(a_gpu(0), use(0.0))))
    assert found.elapsed_seconds == 4 * 3600
    assert found.coverage == 1.0
    assert found.hours is not None
    assert found.hours.allocated == pytest.approx(4.0)
    assert found.judgements["gpu"].reason == "suspended for part of its time"


def test_a_job_without_gpus_is_not_called_unmeasured() -> None:
    assert report(a_job(gpus=0, gpu_type=None)).judgements["gpu"].reason == "no GPUs"


def test_the_largest_jobs_are_reported_in_time() -> None:
    nodes = tuple(f"n{number}" for number in range(1000))
    job = a_job(gpus=8000, nodes=nodes, indices=True)
    stats = [stat for node in nodes for index in range(7) for stat in gpu_stats(a_gpu(index, node), use(0.5))]
    series = [a_series(a_gpu(index, node), [0.5]) for node in nodes for index in range(8)]
    before = time.perf_counter()
    found = report(job, a_reading(stats), series=series)
    assert time.perf_counter() - before < 15
    assert (found.utilization.measured, found.utilization.total, len(found.gpus)) == (7000, 8000, 8000)


def test_a_job_that_ran_for_no_time_divides_by_nothing() -> None:
    job = replace(a_job(gpus=1, hours=0, state="FAILED"), usage=JobUsage(cpu_seconds=0.001))
    found = report(job)
    assert found.cpu.value is None
    assert found.hours is not None
    assert found.hours.allocated == 0


def test_the_gap_of_a_job_is_the_mean_of_its_devices_gaps() -> None:
    stats = [*gpu_stats(a_gpu(0), use(0.9, sm_activity=0.2)), *gpu_stats(a_gpu(1), use(0.5))]
    gap = report(a_job(gpus=2), a_reading(stats)).metrics["utilization_gap"]
    assert (gap.value, gap.measured, gap.total, gap.high) == (pytest.approx(0.7), 1, 2, None)


def test_series_show_how_the_utilization_swings() -> None:
    series = [a_series(a_gpu(0), [0.0] * 6 + [0.9] * 4)]
    found = report(a_job(gpus=1), a_reading(gpu_stats(a_gpu(0), use(0.36))), series=series)
    swing = found.gpus[0].swing
    assert swing is not None
    assert (swing.low_share, swing.high_share) == (0.6, 0.4)
