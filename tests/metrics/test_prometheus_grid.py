"""Bulk samples from a real Prometheus. The truth is computed from the raw numbers, not by the reader."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest

from data.errors import BadRequest
from data.metrics import prometheus_grid
from data.metrics.grid import Grid, GridRun
from data.metrics.prometheus_found import Found
from data.model import Scope, Window
from tests.metrics.series_builders import Case, dcgm, moment, span
from tests.metrics.series_builders import grid as times_of
from tests.services.prometheus import PrometheusServer, metric

UTIL, SM, FB = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_FB_USED"
# A whole step, some hours in the past of the other tests' samples.
BEGIN = 1_790_000_100.0 // 300 * 300
END = BEGIN + 3600.0


@pytest.fixture
def case(prometheus_server: PrometheusServer) -> Case:
    return Case(prometheus_server)


def whole() -> Window:
    return span(BEGIN, END)


def asked(case: Case, samples: Sequence[str], steps: Sequence[str], scope: Scope | None = None) -> Grid:
    return case.source(scrape_interval_seconds=30).grid(samples, steps, whole(), scope)


def one(runs: Iterable[GridRun]) -> GridRun:
    (run,) = runs
    return run


def added(times: Sequence[float], values: Sequence[float]) -> list[tuple[float, float, int, float]]:
    """Begin, sum, count and maximum of each step."""
    steps: defaultdict[float, list[float]] = defaultdict(list)
    for time, value in zip(times, values, strict=True):
        if BEGIN <= time < END:
            steps[time // 300 * 300].append(value)
    return [(begin, sum(each), len(each), max(each)) for begin, each in sorted(steps.items())]


def is_shown(run: GridRun, truth: Sequence[tuple[float, float, int, float]]) -> bool:
    assert run.counts is not None and run.maxima is not None
    columns = np.stack([run.times, run.sums, run.counts, run.maxima], axis=1)
    return columns.shape == (len(truth), 4) and bool(np.allclose(columns, np.array(truth), rtol=1e-12))


def test_raw_samples_and_sums_per_step_are_those_of_the_samples(case: Case) -> None:
    chance = random.Random(3)
    times = times_of(200, BEGIN - 600)
    util, sm = ([float(chance.randint(0, 100)) for _ in times] for _ in range(2))
    case.write(dcgm(UTIL, hpc_job="5"), times, util)
    case.write(dcgm(SM, hpc_job="5"), times, [value / 100 for value in sm])
    found = asked(case, ["gpu_utilization"], ["sm_activity"])
    raw = one(run for run in found.runs if run.metric == "gpu_utilization")
    inside = [(t, v / 100) for t, v in zip(times, util, strict=True) if BEGIN <= t < END]
    assert list(zip(raw.times.tolist(), raw.sums.tolist(), strict=True)) == pytest.approx(np.array(inside))
    steps = one(run for run in found.runs if run.metric == "sm_activity")
    assert is_shown(steps, added(times, [value / 100 for value in sm]))
    assert (steps.job_label, steps.node, raw.counts, found.interval_seconds) == ("5", "gpu001", None, 30.0)


def test_a_sample_on_the_edge_of_a_step_counts_once_to_the_millisecond(case: Case) -> None:
    times = [BEGIN, BEGIN + 299.999, BEGIN + 300, BEGIN + 599.999, BEGIN + 600.001]
    case.write(dcgm(SM), times, [0.1, 0.2, 0.3, 0.4, 0.5])
    steps = one(asked(case, [], ["sm_activity"]).runs)
    assert is_shown(steps, added(times, [0.1, 0.2, 0.3, 0.4, 0.5]))


@pytest.mark.parametrize(("is_open", "length"), [(True, "[300000ms]"), (False, "[299999ms]")])
def test_the_range_fits_how_the_server_takes_ranges(
    case: Case, monkeypatch: pytest.MonkeyPatch, is_open: bool, length: str
) -> None:
    case.write(dcgm(SM), [BEGIN + 10], [0.5])
    seen: list[str] = []
    monkeypatch.setattr(Found, "ranges_are_open", lambda found: is_open)
    real = prometheus_grid.GridReader._query
    monkeypatch.setattr(prometheus_grid.GridReader, "_query", lambda *args: seen.append(real(*args)) or seen[-1])
    asked(case, [], ["sm_activity"])
    assert seen and all(length in query for query in seen)


def test_this_prometheus_says_itself_how_it_takes_ranges(case: Case) -> None:
    assert case.source()._found.ranges_are_open() is (case.source().health().version or "").startswith("3")


def test_an_impossible_or_blank_value_costs_only_itself(case: Case) -> None:
    times, values = times_of(40, BEGIN), [0.5] * 40
    values[7], values[25] = 808334905.0, 9223372036854775794.0
    case.write(dcgm(SM, hpc_job="1"), times, values)
    case.write(dcgm(SM, gpu=1, node="gpu002", hpc_job="2"), times, [0.25] * 40)
    found = asked(case, [], ["sm_activity"])
    total = {run.node: (run.sums.sum(), run.counts.sum()) for run in found.runs if run.counts is not None}
    assert total == {"gpu001": (pytest.approx(19.0), 38), "gpu002": (pytest.approx(10.0), 40)}
    assert found.dropped == {"implausible: sm_activity": 1, "blank: sm_activity": 1}


def test_not_a_number_in_a_step_costs_only_itself(case: Case) -> None:
    case.write(dcgm(SM), times_of(10, BEGIN), [0.5] * 4 + [float("nan")] + [0.5] * 5)
    run = one(asked(case, [], ["sm_activity"]).runs)
    assert (run.sums.sum(), run.counts is not None and run.counts.sum()) == (pytest.approx(4.5), 9)


def test_jobs_that_share_a_device_have_a_run_each(case: Case) -> None:
    for job in ("7", "8"):
        case.write(dcgm(UTIL, hpc_job=job), times_of(20, BEGIN), [60] * 20)
        case.write(dcgm(FB, hpc_job=job), times_of(20, BEGIN), [1000] * 20)
    found = asked(case, ["gpu_utilization"], ["gpu_memory_used_bytes"])
    assert sorted((run.metric, run.job_label) for run in found.runs) == [
        (name, job) for name in ("gpu_memory_used_bytes", "gpu_utilization") for job in ("7", "8")
    ]


def test_slices_have_no_utilization_and_their_own_activity(case: Case) -> None:
    mig = {"GPU_I_ID": "3", "GPU_I_PROFILE": "1g.10gb"}
    case.write(dcgm(UTIL, hpc_job="9", **mig), times_of(20, BEGIN), [0] * 20)
    case.write(dcgm("DCGM_FI_PROF_GR_ENGINE_ACTIVE", hpc_job="9", **mig), times_of(20, BEGIN), [0.5] * 20)
    case.write(dcgm(FB, hpc_job="9", **mig), times_of(20, BEGIN), [1000] * 20)
    names = ["gpu_utilization", "graphics_engine_activity"]
    found = asked(case, names, ["gpu_memory_used_bytes"])
    assert {(run.metric, run.device.slice_id) for run in found.runs if run.device} == {
        ("graphics_engine_activity", "3"),
        ("gpu_memory_used_bytes", "3"),
    }


def test_memory_of_several_parts_is_added_up_before_it_is_binned(case: Case) -> None:
    for name, value in ((FB, 1000.0), ("DCGM_FI_DEV_FB_FREE", 500.0)):
        case.write(dcgm(name), times_of(20, BEGIN), [value] * 20)
    run = one(asked(case, [], ["gpu_memory_total_bytes"]).runs)
    assert run.maxima is not None
    assert run.maxima.tolist() == [1500 * 2**20] * 2


def test_a_counter_comes_as_increases_and_survives_a_restart(case: Case) -> None:
    values = [1000.0 * n for n in range(10)] + [500.0 * n for n in range(1, 11)]
    case.write(dcgm("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), times_of(20, BEGIN - 60), values)
    case.write(dcgm(FB), times_of(20, BEGIN - 60), [1] * 20)
    run = one(asked(case, [], ["energy_joules"]).runs)
    assert run.sums.tolist() == pytest.approx([1.0] * 8 + [0.5] * 10)
    assert run.times[0] == BEGIN


def test_requests_do_not_grow_with_devices_and_jobs(case: Case) -> None:
    def write(labels: Mapping[str, str]) -> None:
        case.write(labels, times_of(20, BEGIN), [1] * 20)

    def cost() -> int:
        source = case.source(scrape_interval_seconds=30)
        source.grid([], ["sm_activity"], whole())
        before = source.requests
        source.grid(["gpu_utilization"], ["sm_activity", "gpu_memory_used_bytes"], whole())
        return source.requests - before

    for name in (UTIL, SM, FB):
        write(dcgm(name, hpc_job="1"))
    few = cost()
    for gpu in range(1, 20):
        for name in (UTIL, SM, FB):
            write(dcgm(name, gpu=gpu, hpc_job=str(gpu)))
    assert cost() == few == 3


def test_a_scope_limits_the_nodes(case: Case) -> None:
    for node in ("gpu001", "gpu0011"):
        case.write(dcgm(UTIL, node=node), times_of(20, BEGIN), [60] * 20)
        case.write(dcgm(SM, node=node), times_of(20, BEGIN), [0.6] * 20)
    found = asked(case, ["gpu_utilization"], ["sm_activity"], Scope(nodes=frozenset({"gpu001"})))
    assert {(run.metric, run.node) for run in found.runs} == {("gpu_utilization", "gpu001"), ("sm_activity", "gpu001")}


def test_host_metrics_come_per_job_and_node(case: Case) -> None:
    labels = {"instance": "gpu001:9306", "jobid": "77"}
    case.write(metric("cgroup_memory_rss_bytes", **labels, step="", task=""), times_of(20, BEGIN), [5.0] * 20)
    found = asked(case, [], ["memory_used_bytes"])
    assert {(run.node, run.job_label, run.device) for run in found.runs} == {("gpu001", "77", None)}


def test_a_window_that_cuts_a_step_is_refused(case: Case) -> None:
    with pytest.raises(BadRequest, match="cannot be cut into steps"):
        case.source().grid([], ["sm_activity"], span(BEGIN + 1, END))


def test_a_time_without_samples_is_empty_and_names_what_is_missing(case: Case) -> None:
    case.write(dcgm(SM), [BEGIN - 7200], [0.5])
    found = case.source().grid(["gpu_utilization"], ["sm_activity"], whole())
    assert (found.runs, found.missing) == ((), ("gpu_utilization", "sm_activity"))
    assert found.window == Window(moment(BEGIN), moment(END))
