"""The reports of real jobs' series in a real Prometheus against the generator's own samples, summed by numpy here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from data.metrics.prometheus import PrometheusSource
from data.metrics.registry import METRICS
from data.model import Job, Role, Scope, Viewer, Window
from data.queries.job_report import job_answer
from data.report import JobReport, UseSource
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from data.sources import Sources
from tests.end_to_end.simulated_truth import INTERVAL, Place, Truth, kinds, source, sources_at, write
from tests.services.prometheus import PrometheusServer

LATEST = datetime(2026, 11, 25, 14, 5, 30, tzinfo=UTC)
STAFF = Viewer("root", Role.STAFF)
DEVICE_METRICS = (
    "gpu_utilization",
    "graphics_engine_activity",
    "sm_activity",
    "tensor_activity",
    "gpu_memory_used_bytes",
    "power_watts",
    "energy_joules",
)
HOST_METRICS = ("cpu_seconds", "memory_used_bytes", "memory_allocated_bytes", "allocated_cores")
KINDS = ("one GPU", "several GPUs", "slice", "shared", "suspended", "het", "array", "no GPU", "gap")
WANTED = 3


@dataclass(frozen=True, repr=False)  # the repr of whole hours of samples takes minutes
class Chapter:
    """A few hours of some nodes: what Prometheus holds of them, what the generator says, and jobs by kind."""

    truth: Truth
    source: PrometheusSource
    sources: Sources
    jobs: dict[str, list[Job]]
    gaps: list[tuple[float, float]]


def chapter(world: World, server: PrometheusServer, window: Window, run: str, wanted: tuple[str, ...]) -> Chapter:
    gaps = world.faults.source_gaps(window.start.timestamp(), window.end.timestamp())
    scheduler = SimulatedScheduler(world, lambda: window.end)
    found = kinds(scheduler.finished_jobs(window.start, window.end).rows, window)
    found["gap"] = [job for job in found["one GPU"] + found["several GPUs"] if any(crosses(job, gap) for gap in gaps)]
    chosen = {kind: sorted(found[kind], key=lambda job: len(job.nodes))[:WANTED] for kind in wanted}
    parts = [part for jobs in chosen.values() for job in jobs for part in scheduler.job(str(job.job_id))]
    nodes = frozenset(node for part in parts for node in part.nodes)
    assert write(server, world, window, (*DEVICE_METRICS, *HOST_METRICS), nodes, run) > 10_000
    reading = source(server, run)
    return Chapter(Truth(world, window), reading, sources_at(world, reading, window.end), chosen, gaps)


def crosses(job: Job, gap: tuple[float, float]) -> bool:
    assert job.start_time is not None and job.end_time is not None
    return job.start_time.timestamp() < gap[0] - 300 and job.end_time.timestamp() > gap[1] + 300


def hours_with(world: World, *wanted: str) -> Window:
    """The last five hours in which jobs of all these kinds ran from their start to their end."""
    for back in range(0, 24 * 90, 4):
        window = Window(LATEST - timedelta(hours=back + 5), LATEST - timedelta(hours=back))
        scheduler = SimulatedScheduler(world, lambda end=window.end: end)  # type: ignore[misc]
        if set(wanted) <= kinds(scheduler.finished_jobs(window.start, window.end).rows, window).keys():
            return window
    raise AssertionError(f"three months without {wanted}")


def darkness(world: World) -> Window:
    """Hours around the last gap of the whole metrics store."""
    begin, end = max(world.faults.source_gaps(LATEST.timestamp() - 30 * 86400, LATEST.timestamp() - 86400))
    return Window(datetime.fromtimestamp(begin - 5400, UTC), datetime.fromtimestamp(end + 3600.25, UTC))


@pytest.fixture(scope="module")
def chapters(prometheus_server: PrometheusServer) -> Iterator[list[Chapter]]:
    world = World(7)
    first, second = ("suspended", "one GPU", "several GPUs", "slice"), ("het", "shared", "array", "no GPU")
    made = [
        chapter(world, prometheus_server, hours_with(world, *first), "first", first),
        chapter(world, prometheus_server, hours_with(world, *second), "second", second),
        chapter(world, prometheus_server, darkness(world), "gap", ("gap",)),
    ]
    yield made
    for each in made:
        each.source.close()


@pytest.fixture(params=KINDS)
def told(request: pytest.FixtureRequest, chapters: list[Chapter]) -> tuple[Chapter, list[tuple[Job, JobReport]]]:
    """Up to three jobs of a kind and their reports."""
    here = next(each for each in chapters if request.param in each.jobs)
    jobs = here.jobs[request.param]
    assert jobs, f"no job of the kind {request.param} in {here.truth.window}"
    return here, [(job, job_answer(STAFF, here.sources, name_of(job)).report) for job in jobs]


def name_of(job: Job) -> str:
    """What a person would ask for: a het job as a whole, an array's task alone."""
    return str(job.het_job_id) if job.het_job_id else job.display_id


def leader(report: JobReport, job: Job) -> JobReport:
    """The report of the part that is this job."""
    return next((part for part in report.components if part.job.job_id == job.job_id), report)


def busy_metric(place: Place) -> str:
    return "graphics_engine_activity" if place[2] else "gpu_utilization"


def used(truth: Truth, job: Job) -> dict[Place, np.ndarray]:
    """UTIL of each whole GPU and GR of each slice."""
    whole = {place: values for place, values in truth.of_job("gpu_utilization", job).items() if not place[2]}
    return whole | {p: v for p, v in truth.of_job("graphics_engine_activity", job).items() if p[2]}


def place(report_row) -> Place:  # type: ignore[no-untyped-def]
    device = report_row.device
    return (device.node, str(device.index), device.slice_id or "")


def test_the_jobs_do_not_sit_on_the_grid_of_the_scrapes(chapters: list[Chapter]) -> None:
    starts = [
        job.start_time.timestamp() % INTERVAL
        for each in chapters
        for jobs in each.jobs.values()
        for job in jobs
        if job.start_time
    ]
    assert len(set(starts)) > len(starts) / 3


def test_means_are_those_of_the_samples(told: tuple[Chapter, list[tuple[Job, JobReport]]]) -> None:
    here, pairs = told
    for job, report in pairs:
        expected = used(here.truth, job)
        rows = {place(row): row for row in leader(report, job).gpus if row.device is not None}
        assert {p for p, row in rows.items() if row.utilization is not None} == set(expected)
        for where, values in expected.items():
            metric = rows[where].metrics[busy_metric(where)]
            assert metric.mean == pytest.approx(values.mean(), abs=1e-9)
            assert (metric.samples, metric.minimum, metric.maximum) == (
                len(values),
                pytest.approx(values.min()),
                pytest.approx(values.max()),
            )
            assert metric.idle_share == pytest.approx((values <= METRICS[busy_metric(where)].idle_epsilon).mean())
        if expected:
            mean = leader(report, job).utilization
            assert mean.value == pytest.approx(np.mean([values.mean() for values in expected.values()]))
            assert mean.measured == len(expected)


def test_means_are_the_generators_own_but_for_the_exporters_rounding(
    told: tuple[Chapter, list[tuple[Job, JobReport]]],
) -> None:
    here, pairs = told
    for job, report in pairs:
        for name in ("sm_activity", "tensor_activity", "power_watts"):
            if here.truth.of_job(name, job):
                mine = leader(report, job).metrics[name].value
                assert mine == pytest.approx(here.truth.raw_mean(name, job), abs=0.001), (name, job.display_id)


def test_coverage_is_what_the_scrapes_left(told: tuple[Chapter, list[tuple[Job, JobReport]]]) -> None:
    here, pairs = told
    for job, report in pairs:
        assert job.start_time is not None and job.end_time is not None
        due = math.floor((job.end_time - job.start_time).total_seconds() / INTERVAL)
        for row in leader(report, job).gpus:
            seen = len(used(here.truth, job)[place(row)]) if row.device is not None else 0
            expected = 1.0 if abs(seen - due) <= 1 else seen / due
            assert row.coverage == pytest.approx(expected, abs=0.002)


def test_a_gap_of_the_source_is_missing_and_not_idle(chapters: list[Chapter]) -> None:
    here = chapters[2]
    for job in here.jobs["gap"]:
        report = job_answer(STAFF, here.sources, name_of(job)).report
        gone = sum(end - begin for begin, end in here.gaps)
        assert report.coverage is not None and report.elapsed_seconds is not None and report.hours is not None
        assert report.coverage == pytest.approx(
            1 - gone / report.elapsed_seconds, abs=2.5 * INTERVAL / report.elapsed_seconds
        )
        assert report.hours.not_measured == pytest.approx(report.hours.allocated * (1 - report.coverage), rel=0.02)


def test_hours_add_up_and_are_those_of_the_samples(told: tuple[Chapter, list[tuple[Job, JobReport]]]) -> None:
    here, pairs = told
    for job, report in pairs:
        part = leader(report, job)
        assert job.start_time is not None and job.end_time is not None and part.hours is not None
        ran = (job.end_time - job.start_time).total_seconds() - job.suspended_seconds
        assert part.elapsed_seconds == pytest.approx(ran)
        weights = {place(row): row.weight for row in part.gpus if row.device is not None}
        expected = used(here.truth, job)
        shares = {where: (weights[where], rows[0]) for where, rows in ((w, [v]) for w, v in expected.items())}
        due = math.floor((job.end_time - job.start_time).total_seconds() / INTERVAL)
        used_hours = sum(
            weight * ran / 3600 * min(1.0, 1.0 if abs(len(values) - due) <= 1 else len(values) / due) * values.mean()
            for weight, values in shares.values()
        )
        assert (part.hours.used or 0.0) == pytest.approx(used_hours, rel=1e-3, abs=1e-6)
        hours = part.hours
        parts = (hours.used or 0.0) + (hours.partly_used or 0.0) + (hours.idle or 0.0) + hours.not_measured
        assert parts == pytest.approx(hours.allocated)
        assert hours.allocated == pytest.approx(sum(row.weight for row in part.allocated_gpus) * ran / 3600)


def test_peaks_are_those_of_the_samples(told: tuple[Chapter, list[tuple[Job, JobReport]]]) -> None:
    here, pairs = told
    for job, report in pairs:
        peaks = {where: values.max() for where, values in here.truth.of_job("gpu_memory_used_bytes", job).items()}
        for row in leader(report, job).gpus:
            if row.device is not None and place(row) in peaks:
                assert row.maximum("gpu_memory_used_bytes") == pytest.approx(peaks[place(row)], abs=1 << 20)


def test_cpu_and_memory_are_those_of_the_cgroups(told: tuple[Chapter, list[tuple[Job, JobReport]]]) -> None:
    """A counter shows what was used between the first and last scrape: at most two intervals less than all."""
    here, pairs = told
    for job, report in pairs:
        part = leader(report, job)
        counted = here.truth.of_job("cpu_seconds", job)
        if not counted:
            continue
        assert part.host_source is UseSource.SERIES
        seen = sum(values[-1] - values[0] for values in counted.values())
        assert part.cpu.used == pytest.approx(seen, rel=1e-6, abs=0.01)
        peak = sum(values.max() for values in here.truth.of_job("memory_used_bytes", job).values())
        assert part.memory.used == pytest.approx(peak)


def test_a_shared_gpu_is_marked_and_none_else_is(chapters: list[Chapter]) -> None:
    for here, kind, is_shared in ((chapters[1], "shared", True), (chapters[0], "one GPU", False)):
        for job in here.jobs[kind]:
            assert job_answer(STAFF, here.sources, name_of(job)).report.is_shared == is_shared


def test_the_newest_values_are_the_last_samples_before_the_moment(chapters: list[Chapter]) -> None:
    here = chapters[0]
    moment = here.truth.window.end - timedelta(minutes=47, seconds=11.5)
    at = moment.timestamp()
    names = ("gpu_utilization", "graphics_engine_activity", "power_watts", "sm_activity")
    read = {
        (r.device.node, str(r.device.index), r.device.slice_id or ""): r
        for r in here.source.latest(names, moment).devices
    }
    assert len(read) > 10
    compared = 0
    for name in names:
        newest = newest_of(here.truth, name, at)
        for where, reading in read.items():
            shown = reading.values.get(name)
            truth = newest.get(where)
            if truth is not None and name == "gpu_utilization" and where[2]:
                truth = None  # UTIL says nothing of a slice
            assert (shown is None) == (truth is None), (name, where)
            if shown is not None:
                assert shown == pytest.approx(truth, abs=0.006 if name == "gpu_utilization" else 0.001)
                compared += 1
    assert compared > 30


def newest_of(truth: Truth, metric: str, at: float) -> dict[Place, float]:
    """The last value of every device not older than two scrapes."""
    truth.series(metric, None)
    found: dict[Place, tuple[float, float]] = {}
    for every in truth._known[metric].values():
        for one in every:
            held = (one.times <= at) & (one.times > at - 2 * INTERVAL)
            if held.any():
                where = (one.labels["Hostname"], one.labels["gpu"], one.labels.get("GPU_I_ID", ""))
                last = (float(one.times[held][-1]), float(one.values[held][-1]))
                found[where] = max(found.get(where, last), last)
    return {where: value for where, (_, value) in found.items()}


def test_a_bulk_window_by_the_servers_own_sums_is_the_same(
    chapters: list[Chapter], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = chapters[0]
    window = Window(
        here.truth.window.start + timedelta(seconds=17.25), here.truth.window.end - timedelta(minutes=20, seconds=3)
    )
    names = ("gpu_utilization", "graphics_engine_activity", "sm_activity")
    raw = {key_of(stat): stat for stat in here.source.window(names, window, Scope()).stats}
    monkeypatch.setattr("data.metrics.prometheus_window.RAW_LIMIT", -1)
    summed = {key_of(stat): stat for stat in here.source.window(names, window).stats}
    assert raw.keys() == summed.keys() and len(raw) > 50
    for key, stat in raw.items():
        assert (stat.count, stat.minimum, stat.maximum) == (
            summed[key].count,
            pytest.approx(summed[key].minimum),
            pytest.approx(summed[key].maximum),
        )
        assert stat.sum == pytest.approx(summed[key].sum)


def key_of(stat) -> tuple[object, ...]:  # type: ignore[no-untyped-def]
    return (stat.metric, stat.device.key, stat.job_label)
