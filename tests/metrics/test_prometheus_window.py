"""Windows and series from a real Prometheus. The truth is computed from the raw numbers, not by the reader."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from data.errors import BadRequest
from data.metrics import prometheus_window
from data.metrics.prometheus_stats import sums_query
from data.model import Scope
from tests.metrics.series_builders import STEP, T0, Case, dcgm, grid, moment, span
from tests.services.prometheus import PrometheusServer, metric

UTIL = "DCGM_FI_DEV_GPU_UTIL"


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    return Case(prometheus_server)


@pytest.fixture(params=["raw", "by the server"])
def any_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs a test twice: with raw samples, and with sums made by the server as for bulk windows."""
    by_server = request.param == "by the server"
    asked: list[str] = []

    def noted(*args: Any) -> str:
        asked.append(sums_query(*args))
        return asked[-1]

    monkeypatch.setattr(prometheus_window, "sums_query", noted)
    if by_server:
        monkeypatch.setattr(prometheus_window, "RAW_LIMIT", -1)
    yield
    assert bool(asked) == by_server


@pytest.mark.usefixtures("any_path")
def test_sums_counts_and_extremes_are_those_of_the_samples_with_start_but_without_end(case: Case) -> None:
    chance = random.Random(1)
    values = [float(chance.choice([0, 0, chance.randint(1, 100)])) for _ in range(100)]
    case.write(dcgm(UTIL, hpc_job="5"), grid(100), values)
    inside = [v / 100 for t, v in zip(grid(100), values, strict=True) if T0 + 300 <= t < T0 + 2400]
    (stat,) = case.stats(["gpu_utilization"], span(T0 + 300, T0 + 2400))
    assert stat.sum == pytest.approx(sum(inside))
    assert (stat.count, stat.job_label, stat.node) == (70, "5", "gpu001")
    assert (stat.minimum, stat.maximum) == (min(inside), pytest.approx(max(inside)))
    assert stat.idle_count == sum(v == 0 for v in inside)


@pytest.mark.parametrize(
    ("name", "values", "idle"),
    [
        ("gpu_utilization", [0, 50], 10),
        ("graphics_engine_activity", [0, 0.5], 10),
        ("sm_activity", [0, 0.5], None),
        ("sm_activity", [0, 0], 20),
        ("sm_activity", [0.1, 0.5], 0),
    ],
)
def test_idle_samples_of_a_sum_are_counted_only_where_somebody_reads_them(
    case: Case, monkeypatch: pytest.MonkeyPatch, name: str, values: list[float], idle: int | None
) -> None:
    monkeypatch.setattr(prometheus_window, "RAW_LIMIT", -1)
    fields = {
        "gpu_utilization": UTIL,
        "graphics_engine_activity": "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        "sm_activity": "DCGM_FI_PROF_SM_ACTIVE",
    }
    case.write(dcgm(fields[name], hpc_job="5"), grid(20), values * 10)
    (stat,) = case.stats([name], span(T0, T0 + 600))
    assert (stat.count, stat.idle_count) == (20, idle)


def test_idle_samples_of_gr_are_asked_for_only_where_it_stands_in_for_util(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus_window, "RAW_LIMIT", -1)
    gr, mig = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.10gb"}
    case.write(dcgm(UTIL), grid(20), [0, 50] * 10)
    case.write(dcgm(gr), grid(20), [0, 0.5] * 10)
    case.write(dcgm(gr, gpu=1, **mig), grid(20), [0, 0.5] * 10)
    case.write(dcgm("DCGM_FI_DEV_FB_USED", gpu=1, **mig), grid(20), [1000] * 20)
    found = case.stats(["gpu_utilization", "graphics_engine_activity"], span(T0, T0 + 600))
    assert {(one.metric, one.device.slice_id): one.idle_count for one in found if one.device} == {
        ("gpu_utilization", None): 10,
        ("graphics_engine_activity", None): None,
        ("graphics_engine_activity", "3"): 10,
    }


@pytest.mark.parametrize(
    ("start", "end", "count"), [(0, 30, 1), (0, 31, 2), (1, 30, 0), (30, 60, 1), (0.001, 30.001, 1)]
)
def test_edges_are_exact_to_the_millisecond(case: Case, start: float, end: float, count: int) -> None:
    case.write(dcgm(UTIL), grid(3), [50] * 3)
    stats = case.stats(["gpu_utilization"], span(T0 + start, T0 + end))
    assert sum(stat.count for stat in stats) == count


@pytest.mark.usefixtures("any_path")
def test_a_gap_is_not_filled_and_not_idle(case: Case) -> None:
    times = grid(10) + grid(10, T0 + 1200)
    case.write(dcgm(UTIL), times, [90] * 20)
    (stat,) = case.stats(["gpu_utilization"], span(T0, T0 + 1500))
    assert (stat.count, stat.idle_count, stat.sum) == (20, 0, pytest.approx(18.0))


@pytest.mark.usefixtures("any_path")
def test_spikes_and_blanks_are_left_out_one_by_one(case: Case) -> None:
    case.write(dcgm(UTIL), grid(5), [98, 97, 808334905, 99, 4294967295])
    case.write(dcgm(UTIL, gpu=1), grid(5), [10] * 5)
    reading = case.source().window(["gpu_utilization"], span(T0, T0 + 150))
    means = {stat.device.index: (stat.mean, stat.count) for stat in reading.stats if stat.device}
    assert means == {0: (pytest.approx(0.98), 3), 1: (pytest.approx(0.1), 5)}
    assert reading.dropped == {"implausible: gpu_utilization": 1, "blank: gpu_utilization": 1}


@pytest.mark.usefixtures("any_path")
def test_each_job_of_a_shared_device_has_the_device_s_samples(case: Case) -> None:
    for job in ("1", "2"):
        case.write(dcgm(UTIL, hpc_job=job), grid(10), [40] * 10)
    found = {stat.job_label: (stat.count, stat.mean) for stat in case.stats(["gpu_utilization"], span(T0, T0 + 300))}
    assert found == {"1": (10, pytest.approx(0.4)), "2": (10, pytest.approx(0.4))}


@pytest.mark.usefixtures("any_path")
def test_slices_count_by_gr_and_power_of_the_card_is_theirs(case: Case) -> None:
    case.write(dcgm("DCGM_FI_DEV_POWER_USAGE"), grid(10), [300] * 10)
    case.write(dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", GPU_I_ID="1", hpc_job="9"), grid(10), [0.25] * 10)
    case.write(dcgm(UTIL, GPU_I_ID="1", hpc_job="9"), grid(10), [0] * 10)
    metrics = ["gpu_utilization", "graphics_engine_activity", "power_watts"]
    stats = case.stats(metrics, span(T0, T0 + 300))
    assert {(s.metric, s.device.slice_id if s.device else "", s.mean) for s in stats} == {
        ("graphics_engine_activity", "1", 0.25),
        ("power_watts", "1", 300.0),
    }


@pytest.mark.usefixtures("any_path")
def test_of_two_exporters_the_first_counts_for_a_metric_and_they_are_never_mixed(case: Case) -> None:
    case.write(dcgm(UTIL), grid(10), [40] * 10)
    other = metric("nvidia_gpu_duty_cycle", uuid="GPU-gpu001-0", ordinal="0", instance="gpu001:9445", jobid="3")
    case.write(other, grid(10, T0 + 5), [90] * 10)
    (stat,) = case.stats(["gpu_utilization"], span(T0, T0 + 400))
    assert (stat.count, stat.mean) == (10, pytest.approx(0.4))


def test_two_servers_that_scrape_one_exporter_do_not_double_its_samples(case: Case) -> None:
    case.write(dcgm(UTIL, replica="a"), grid(10), [40] * 10)
    case.write(dcgm(UTIL, replica="b"), grid(10, T0 + 3), [40] * 10)
    (stat,) = case.stats(["gpu_utilization"], span(T0, T0 + 300))
    assert stat.count == 10


def test_a_restarted_exporter_goes_on_as_the_same_device(case: Case) -> None:
    case.write(dcgm(UTIL, pod="a"), grid(5), [10] * 5)
    case.write(dcgm(UTIL, pod="b"), grid(5, T0 + 150), [30] * 5)
    (stat,) = case.stats(["gpu_utilization"], span(T0, T0 + 300))
    assert (stat.count, stat.mean) == (10, pytest.approx(0.2))


def test_counters_add_up_over_resets(case: Case) -> None:
    values = [100.0, 160.0, 220.0, 10.0, 70.0]
    case.write(dcgm("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), grid(5), [v * 1000 for v in values])
    (stat,) = case.stats(["energy_joules"], span(T0, T0 + 150))
    assert (stat.sum, stat.count) == (pytest.approx(60 + 60 + 10 + 60), 5)


def _cgroup(name: str, **labels: str) -> dict[str, str]:
    return metric(name, instance="gpu001:9306", job="Rockfish GPU Nodes", **labels)


@pytest.mark.parametrize("labels", [{"jobid": "15373156"}, {"cgroup": "/slurm/uid_3968/job_15373156"}])
def test_host_metrics_are_per_job_and_node_from_the_job_s_total(case: Case, labels: dict[str, str]) -> None:
    case.write(_cgroup("cgroup_cpu_total_seconds", **labels), grid(10), [n * 60.0 for n in range(10)])
    case.write(_cgroup("cgroup_cpu_total_seconds", step="0", task="1", **labels), grid(10), [9e9] * 10)
    for name, value in (("rss", 5.0), ("shmem", 2.0)):
        case.write(_cgroup(f"cgroup_memory_{name}_bytes", **labels), grid(10), [value] * 10)
    scope = Scope(job_labels=frozenset({"15373156"}))
    stats = case.stats(["cpu_seconds", "memory_used_bytes"], span(T0, T0 + 300), scope)
    assert {(s.metric, s.node, s.device, s.job_label, s.sum, s.maximum) for s in stats} == {
        ("cpu_seconds", "gpu001", None, "15373156", 540.0, 540.0),
        ("memory_used_bytes", "gpu001", None, "15373156", 70.0, 7.0),
    }


def test_cpu_seconds_of_cores_are_added_up(case: Case) -> None:
    for core in ("0", "1"):
        labels = metric("slurm_job_core_usage_total", slurmjobid="7", core=core, instance="n1:9798", user="u")
        case.write(labels, grid(10), [n * 30e9 for n in range(10)])
    (stat,) = case.stats(["cpu_seconds"], span(T0, T0 + 300))
    assert (stat.sum, stat.job_label, stat.node) == (pytest.approx(540.0), "7", "n1")


def test_a_scope_takes_series_of_its_jobs_or_its_nodes_and_no_others(case: Case) -> None:
    case.write(dcgm(UTIL, node="a", hpc_job="1"), grid(3), [10] * 3)
    case.write(dcgm(UTIL, node="b", hpc_job="12"), grid(3), [20] * 3)
    case.write(dcgm(UTIL, node="c.example"), grid(3), [30] * 3)
    case.write(dcgm(UTIL, node="cc"), grid(3), [40] * 3)
    scope = Scope(job_labels=frozenset({"1", '1"} or vector(1)'}), nodes=frozenset({"c", "a"}))
    assert {s.node for s in case.stats(["gpu_utilization"], span(T0, T0 + 90), scope)} == {"a", "c"}
    assert case.stats(["gpu_utilization"], span(T0, T0 + 90), Scope(job_labels=frozenset())) == []


@pytest.mark.parametrize("labels", [None, frozenset({"1", "7"})])
def test_the_server_adds_up_a_large_scope_in_few_spans_to_what_its_samples_are(
    case: Case, monkeypatch: pytest.MonkeyPatch, labels: frozenset[str] | None
) -> None:
    chance = random.Random(3)
    for node, gpu, job in (("a", "0", "1"), ("a", "1", "1"), ("b", "0", "2"), ("c.example", "0", "")):
        values = [float(chance.choice([0, 0, chance.randint(1, 100)])) for _ in range(100)]
        case.write(dcgm(UTIL, node=node, gpu=gpu, hpc_job=job), grid(100), values)
        case.write(dcgm("DCGM_FI_DEV_POWER_USAGE", node=node, gpu=gpu, hpc_job=job), grid(100), [90.0] * 99 + [9e18])
    scope = Scope(job_labels=labels, nodes=frozenset({"c", "d"} if labels else {"a", "c"}))
    asked = (["gpu_utilization", "power_watts"], span(T0 + 300, T0 + 3000), scope)
    read = {(one.metric, one.device): one for one in case.stats(*asked)}
    monkeypatch.setattr(prometheus_window, "RAW_LIMIT", -1)
    monkeypatch.setattr(prometheus_window, "SUM_LIMIT", 2 * prometheus_window.usual_series(scope) * 45)
    questions: list[str] = []
    monkeypatch.setattr(prometheus_window, "sums_query", lambda *a: questions.append(sums_query(*a)) or questions[-1])
    added = {(one.metric, one.device): one for one in case.stats(*asked)}
    assert {one.node for one in added.values()} == {"a", "c"} and len(added) == 6
    assert added.keys() == read.keys() and len(questions) == 2
    for key, one in added.items():
        assert replace(one, sum=0.0) == replace(read[key], sum=0.0)
        assert one.sum == pytest.approx(read[key].sum)


def test_long_windows_are_read_in_chunks_that_lose_and_double_nothing(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("data.metrics.prometheus_raw._SAMPLES_PER_ANSWER", 200)
    case.write(dcgm(UTIL), grid(100), [n % 50 for n in range(100)])
    case.write(dcgm("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), grid(100), [n * 1000.0 for n in range(100)])
    source = case.source()
    before = source.requests
    stats = {s.metric: s for s in source.window(["gpu_utilization", "energy_joules"], span(T0, T0 + 3000)).stats}
    assert source.requests - before > 10
    assert (stats["gpu_utilization"].count, stats["energy_joules"].sum) == (100, 99.0)
    assert stats["gpu_utilization"].sum == pytest.approx(sum(n % 50 for n in range(100)) / 100)


def test_a_window_without_length_is_refused(case: Case) -> None:
    with pytest.raises(BadRequest, match="no length"):
        case.stats(["gpu_utilization"], span(T0, T0))


def test_series_are_the_raw_samples_and_end_where_the_job_ended(case: Case) -> None:
    times = grid(5) + grid(5, T0 + 600)
    case.write(dcgm(UTIL, hpc_job="5"), times, [n * 10 for n in range(10)])
    scope = Scope(job_labels=frozenset({"5"}))
    (series,) = case.source().series(["gpu_utilization"], span(T0, T0 + 3600), scope)
    assert series.times == tuple(times)
    assert series.values == pytest.approx([n / 10 for n in range(10)])


def test_a_step_gives_means_per_step_and_no_point_for_an_empty_one(case: Case) -> None:
    times = grid(4) + grid(4, T0 + 600)
    case.write(dcgm(UTIL), times, [10, 20, 30, 40, 50, 60, 70, 80])
    scope = Scope(nodes=frozenset({"gpu001"}))
    (series,) = case.source().series(["gpu_utilization"], span(T0, T0 + 900), scope, 60)
    assert series.times == (T0, T0 + 60, T0 + 600, T0 + 660)
    assert series.values == pytest.approx([0.15, 0.35, 0.55, 0.75])


def test_more_points_than_a_plot_takes_are_refused_with_the_step_that_fits(case: Case) -> None:
    case.write(dcgm(UTIL), grid(3), [1] * 3)
    scope = Scope(nodes=frozenset({"gpu001"}))
    with pytest.raises(BadRequest, match="11000"):
        case.source().series(["gpu_utilization"], span(T0, T0 + 12_000), scope, 1)
    with pytest.raises(BadRequest) as refused:
        case.source(scrape_interval_seconds=1).series(["gpu_utilization"], span(T0, T0 + 12_000), scope)
    assert "at least 2 s" in refused.value.hint


def test_the_interval_is_the_spacing_of_the_samples_where_the_server_knows_no_target(case: Case) -> None:
    case.write(dcgm(UTIL), grid(20, step=15.0), [1] * 20)
    assert case.source().window(["gpu_utilization"], span(T0, T0 + 300)).interval_seconds == 15.0
    assert case.source().latest(["gpu_utilization"], moment(T0 + 19 * 15)).interval_seconds == 15.0
    assert STEP != 15.0
