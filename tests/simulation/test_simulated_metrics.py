"""What the exporters of the simulated cluster show: exact sums, faults as faults, plausible values."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from data.errors import BadRequest
from data.metrics.registry import METRICS, SNAPSHOT_METRICS
from data.metrics.simulated import SimulatedMetrics
from data.model import Job, Scope, Window
from data.simulation import World
from data.simulation.archetypes import ARCHETYPES
from data.simulation.sampling import evaluate, sampled
from data.simulation.spans import device_spans
from data.slurm.simulated import SimulatedScheduler

ALL = [name for name, metric in METRICS.items() if not metric.is_derived]
DEVICE = [name for name in ALL if not METRICS[name].is_host]


@pytest.fixture(scope="module")
def long_job(scheduler: SimulatedScheduler, now: datetime) -> Job:
    jobs = [job for job in scheduler.jobs().rows if job.state == "RUNNING" and job.allocated.gpus == 8]
    return min(jobs, key=lambda job: job.start_time or now)


def test_window_sums_are_the_sums_of_the_single_samples(
    metrics: SimulatedMetrics, long_job: Job, now: datetime
) -> None:
    window = Window(now - timedelta(hours=3), now)
    scope = Scope(job_labels=frozenset({str(long_job.job_id)}))
    series = {(s.metric, s.node, s.device): s for s in metrics.series(ALL, window, scope)}
    stats = metrics.window(ALL, window, scope).stats
    assert {(s.metric, s.node, s.device) for s in stats} == series.keys()
    assert {s.metric for s in stats} == set(ALL)
    for stat in stats:
        one = series[(stat.metric, stat.node, stat.device)]
        epsilon = METRICS[stat.metric].idle_epsilon
        assert stat.count == len(one.values) == len(one.times)
        assert (stat.minimum, stat.maximum) == pytest.approx((min(one.values), max(one.values)))
        assert stat.idle_count == (0 if epsilon is None else sum(v <= epsilon for v in one.values))
        if not METRICS[stat.metric].is_counter:
            assert stat.sum == pytest.approx(sum(one.values))
        elif stat.metric == "cpu_seconds":
            assert stat.sum == pytest.approx(one.values[-1] - one.values[0], rel=0.02)


def test_two_halves_of_a_window_add_up_to_the_whole(metrics: SimulatedMetrics, now: datetime) -> None:
    middle = now - timedelta(minutes=61, seconds=11)
    whole = metrics.window(["gpu_utilization"], Window(now - timedelta(hours=2), now)).stats
    halves = [
        *metrics.window(["gpu_utilization"], Window(now - timedelta(hours=2), middle)).stats,
        *metrics.window(["gpu_utilization"], Window(middle, now)).stats,
    ]
    assert sum(s.count for s in whole) == sum(s.count for s in halves)
    assert sum(s.sum for s in whole) == pytest.approx(sum(s.sum for s in halves))
    assert sum(s.idle_count for s in whole) == sum(s.idle_count for s in halves)


def test_the_newest_reading_is_the_last_sample_of_the_series(metrics: SimulatedMetrics, now: datetime) -> None:
    reading = metrics.latest(["gpu_utilization", "power_watts", "xid"])
    nodes = frozenset({"h001", "h020", "a09"})
    last: dict[tuple[str, object], tuple[float, float]] = {}
    for one in metrics.series(["power_watts"], Window(now - timedelta(seconds=60), now), Scope(nodes=nodes)):
        assert one.device is not None
        best = (one.times[-1], one.values[-1])
        last[(one.node, one.device.key)] = max(last.get((one.node, one.device.key), best), best)
    mine = {(d.device.node, d.device.key): d.values["power_watts"] for d in reading.devices if d.device.node in nodes}
    assert mine == {key: value for key, (_, value) in last.items()}
    assert reading.sample_time is not None and now - timedelta(seconds=30) < reading.sample_time <= now


def test_a_running_job_is_measured_on_exactly_its_devices(
    metrics: SimulatedMetrics, scheduler: SimulatedScheduler, now: datetime
) -> None:
    seen: dict[str, set[tuple[str, int | None]]] = defaultdict(set)
    for device in metrics.latest(["gpu_memory_used_bytes"]).devices:
        for label in device.job_labels:
            seen[label].add((device.device.node, device.device.index))
    measured = {device.device.node for device in metrics.latest(["xid"]).devices}
    checked = 0
    for job in scheduler.jobs().rows:
        old = job.start_time is not None and (now - job.start_time).total_seconds() > 60
        whole = job.partition != "mig" and job.allocated.gpus
        if old and whole and set(job.nodes) <= measured:
            expected = {(part.node, i) for part in job.devices for i in part.gpu_indices or ()}
            assert seen[str(job.job_id)] == expected
            checked += 1
    assert checked > 60


def test_slices_have_no_utilization_and_repeat_what_belongs_to_their_card(metrics: SimulatedMetrics) -> None:
    slices = [d for d in metrics.latest(SNAPSHOT_METRICS).devices if d.device.slice_id is not None]
    assert len(slices) == 34
    cards = defaultdict(set)
    for device in slices:
        assert "gpu_utilization" not in device.values
        assert 0 <= device.values["graphics_engine_activity"] <= 1
        gib = device.values["gpu_memory_total_bytes"] / 2**30
        assert gib == pytest.approx(float((device.device.slice_profile or "").split(".")[1][:-2]), rel=0.02)
        cards[device.device.uuid].add((device.values["power_watts"], device.values["temperature_celsius"]))
    assert len(cards) == 8
    assert all(len(values) == 1 for values in cards.values())


def test_a_shared_card_shows_all_its_jobs(world: World, scheduler: SimulatedScheduler) -> None:
    metrics = SimulatedMetrics(world, lambda: datetime.fromisoformat("2026-11-25T14:05:30+00:00"))
    most = 0
    for hours in range(0, 96, 3):
        at = datetime.fromisoformat("2026-11-25T14:05:30+00:00") - timedelta(hours=hours)
        cards = [d for d in metrics.latest(["gpu_utilization"], at).devices if d.device.label == "a08/3"]
        most = max([most, *(len(card.job_labels) for card in cards)])
    assert most >= 2


def test_silent_exporters_and_broken_nodes_have_no_samples_at_all(
    world: World, metrics: SimulatedMetrics, now: datetime
) -> None:
    checked = 0
    for kind in ("silent", "down"):
        for fault in world.faults.between(kind, (now - timedelta(days=5)).timestamp(), now.timestamp()):
            at = datetime.fromtimestamp(min((fault.start + fault.end) / 2, now.timestamp()), now.tzinfo)
            if fault.covers(at.timestamp() - 90) and fault.covers(at.timestamp()):
                assert fault.node not in {d.device.node for d in metrics.latest(["gpu_utilization"], at).devices}
                checked += 1
    assert checked > 5


def test_the_source_as_a_whole_has_gaps_in_some_nights(world: World, metrics: SimulatedMetrics, now: datetime) -> None:
    gaps = world.faults.source_gaps((now - timedelta(days=30)).timestamp(), now.timestamp())
    assert 4 < len(gaps) < 25
    start, end = (datetime.fromtimestamp(edge, now.tzinfo) for edge in gaps[0])
    assert metrics.window(["gpu_utilization", "cpu_seconds"], Window(start, end)).stats == ()
    assert metrics.latest(["gpu_utilization"], end - timedelta(seconds=1)).devices == ()


def test_a_stuck_sensor_shows_0_while_the_card_works(world: World, metrics: SimulatedMetrics, now: datetime) -> None:
    caught = 0
    for fault in world.faults.between("stuck", (now - timedelta(days=15)).timestamp(), now.timestamp()):
        window = Window(
            *(datetime.fromtimestamp(min(t, now.timestamp()), now.tzinfo) for t in (fault.start, fault.end))
        )
        names = ["gpu_utilization", "power_watts"]
        stats = metrics.window(names, window, Scope(nodes=frozenset({fault.node}))).stats
        mine = [s for s in stats if s.device is not None and s.device.index == fault.card]
        assert all(s.maximum == 0 for s in mine if s.metric == "gpu_utilization")
        caught += any((s.mean or 0) > 200 for s in mine if s.metric == "power_watts")
    assert caught > 3


def test_hot_nodes_are_slow_and_xid_errors_show(world: World, metrics: SimulatedMetrics, now: datetime) -> None:
    hot, codes = 0, set()
    for fault in world.faults.between("throttle", (now - timedelta(days=12)).timestamp(), now.timestamp()):
        at = datetime.fromtimestamp(min(fault.start + 600, now.timestamp()), now.tzinfo)
        devices = metrics.latest(["temperature_celsius", "sm_clock_hertz", "gpu_utilization"], at).devices
        busy = [d.values for d in devices if d.device.node == fault.node and d.values.get("gpu_utilization", 0) > 0.3]
        hot += sum(v["temperature_celsius"] > 85 and v["sm_clock_hertz"] < 1.3e9 for v in busy)
    for fault in world.faults.between("xid", (now - timedelta(days=12)).timestamp(), now.timestamp()):
        at = datetime.fromtimestamp(min(fault.start + 60, now.timestamp()), now.tzinfo)
        codes |= {d.values.get("xid") for d in metrics.latest(["xid"], at).devices if d.device.node == fault.node}
    assert hot > 5
    assert codes & {31.0, 13.0, 48.0, 63.0, 94.0, 79.0}


def test_energy_grows_with_power_and_never_falls_during_a_job(
    metrics: SimulatedMetrics, long_job: Job, now: datetime
) -> None:
    assert long_job.start_time is not None
    window = Window(max(long_job.start_time, now - timedelta(hours=12)), now)
    scope = Scope(job_labels=frozenset({str(long_job.job_id)}))
    for one in metrics.series(["energy_joules"], window, scope):
        assert np.all(np.diff(one.values) > 0)
    stats = metrics.window(["energy_joules", "power_watts"], window, scope).stats
    for device in {s.device for s in stats}:
        joules, watts = (
            next(s for s in stats if s.metric == m and s.device == device) for m in ("energy_joules", "power_watts")
        )
        assert joules.sum == pytest.approx((watts.mean or 0) * window.seconds, rel=0.02)


def test_host_metrics_agree_with_slurms_own_accounting(
    metrics: SimulatedMetrics, scheduler: SimulatedScheduler, now: datetime
) -> None:
    jobs = [j for j in scheduler.finished_jobs(now - timedelta(hours=5), now).rows if (j.elapsed_seconds or 0) > 1800]
    checked = 0
    for job in jobs[:40]:
        assert job.start_time and job.end_time
        window = Window(job.start_time, job.end_time)
        stats = metrics.window(
            ["cpu_seconds", "memory_used_bytes"], window, Scope(job_labels=frozenset({str(job.job_id)}))
        ).stats
        cpu = [s.sum for s in stats if s.metric == "cpu_seconds"]
        assert len(cpu) == len(job.nodes)
        assert sum(cpu) == pytest.approx(job.usage.cpu_seconds, rel=1e-3)
        peak = max(s.maximum for s in stats if s.metric == "memory_used_bytes")
        assert 0.85 * (job.usage.memory_used_bytes or 0) < peak <= (job.usage.memory_used_bytes or 0)
        checked += 1
    assert checked > 10


def test_all_values_are_within_what_the_registry_allows(metrics: SimulatedMetrics) -> None:
    for device in metrics.latest(DEVICE).devices:
        assert device.values.get("gpu_memory_used_bytes", 0) <= device.values.get("gpu_memory_total_bytes", 0)
        for name, value in device.values.items():
            assert np.isfinite(value) and value >= 0, name
            assert METRICS[name].maximum is None or value <= (METRICS[name].maximum or 0), name


def test_unknown_metrics_are_named_as_missing(metrics: SimulatedMetrics, now: datetime) -> None:
    names = ["gpu_utilization", "phlogiston", "utilization_gap"]
    assert metrics.latest(names).missing == ("phlogiston", "utilization_gap")
    assert metrics.window(names, Window(now - timedelta(minutes=5), now)).missing == ("phlogiston", "utilization_gap")


@pytest.mark.parametrize("step", [None, 1.0, 0.0, -5.0, float("nan")])
def test_series_of_too_many_points_are_refused(metrics: SimulatedMetrics, now: datetime, step: float | None) -> None:
    window = Window(now - timedelta(days=10), now)
    with pytest.raises(BadRequest, match="series"):
        metrics.series(["gpu_utilization"], window, Scope(nodes=frozenset({"h001"})), step)


def test_a_window_that_ends_before_it_starts_is_refused(metrics: SimulatedMetrics, now: datetime) -> None:
    with pytest.raises(BadRequest, match="not after its start"):
        metrics.window(["gpu_utilization"], Window(now, now))


def test_steps_without_samples_are_absent_and_others_are_means(
    metrics: SimulatedMetrics, long_job: Job, now: datetime
) -> None:
    window = Window(now - timedelta(hours=1), now)
    scope = Scope(job_labels=frozenset({str(long_job.job_id)}))
    fine = {s.device: s for s in metrics.series(["power_watts"], window, scope)}
    for coarse in metrics.series(["power_watts"], window, scope, 300.0):
        one = fine[coarse.device]
        inside = [v for t, v in zip(one.times, one.values, strict=True) if coarse.times[0] - 300 <= t < coarse.times[0]]
        assert coarse.values[0] == pytest.approx(sum(inside) / len(inside))


def test_every_kind_of_work_has_its_signature(world: World, now: datetime) -> None:
    """SM, tensor, FP64 and idle shares of each archetype, over samples of two weeks."""
    sums: dict[str, list[np.ndarray[tuple[int], np.dtype[np.float64]]]] = defaultdict(list)
    for hours in range(0, 14 * 24, 12):
        at = now.timestamp() - hours * 3600
        spans = [s for s in device_spans(world, at - 30, at) if s.label and s.machine.family in "ha"]
        rows, times = sampled(world, spans)
        moment = evaluate(world, spans, rows, times)
        table = [moment.value(n) for n in ("gpu_utilization", "sm_activity", "tensor_activity", "fp64_activity")]
        for code, kind in enumerate(ARCHETYPES):
            mine = moment.table.archetype[rows] == code
            sums[kind.name].append(np.array([column[mine] for column in table]))
    kinds = {name: np.concatenate(parts, axis=1) for name, parts in sums.items()}
    median = {name: np.median(v, axis=1) for name, v in kinds.items() if v.shape[1]}
    assert median["llm"][0] >= 0.95 and 0.34 <= median["llm"][1] <= 0.6 and median["llm"][2] > 0.1
    assert median["kernels"][0] >= 0.85 and median["kernels"][1] < 0.25
    assert median["simulation"][3] > 0.2 and median["simulation"][2] == 0
    assert median["notebook"][0] == 0
    vision = kinds["vision"][0]
    assert np.mean(vision <= 0.05) >= 0.1 and np.mean(vision >= 0.8) >= 0.2
    assert 0 < np.median(kinds["inference"][0]) < 0.2


def test_the_mixture_is_near_the_published_distributions(world: World, now: datetime, reference: Path) -> None:
    """Median UTIL and SM and the share of zeros over a week, against two LLM clusters."""
    curves: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with (reference / "data/utilization_cdfs/acme_cdf.csv").open() as file:
        for row in csv.DictReader(file):
            curves[(row["file"], row["pair"])].append((float(row["x"]), float(row["cdf_pct"])))

    def quantile(pair: str, percent: float) -> list[float]:
        names = ("util_gpu_seren.pkl", "util_gpu_kalos_full.pkl")
        return sorted(min(x for x, y in curves[(name, pair)] if y >= percent) for name in names)

    util, sm = [], []
    for hours in range(0, 7 * 24, 4):
        at = now.timestamp() - hours * 3600
        spans = [s for s in device_spans(world, at - 30, at) if s.machine.family in "ha"]
        rows, times = sampled(world, spans)
        moment = evaluate(world, spans, rows, times)
        util.append(moment.value("gpu_utilization"))
        sm.append(moment.value("sm_activity"))
    every, active = np.concatenate(util) * 100, np.concatenate(sm) * 100
    assert abs(np.median(every) - quantile("0", 50)[0]) <= 2
    low, high = quantile("2", 50)
    assert low - 3 <= np.median(active) <= high + 3
    assert 0.24 <= np.mean(every == 0) <= 0.34
