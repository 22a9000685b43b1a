"""Attempts measured from a real Prometheus that holds the simulated cluster: equal to the generator's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from data.history.measure import AttemptUse, measure
from data.metrics.simulated import SimulatedMetrics
from data.model import Job, Window
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from settings import Settings
from tests.end_to_end.simulated_truth import Truth, source, write
from tests.services.prometheus import PrometheusServer

DAY = datetime(2026, 5, 12, tzinfo=UTC)
WINDOW = Window(DAY + timedelta(hours=6), DAY + timedelta(hours=18))
NOW = WINDOW.end
METRICS = (
    "gpu_utilization",
    "graphics_engine_activity",
    "sm_activity",
    "gpu_memory_used_bytes",
    "power_watts",
)


@pytest.fixture(scope="module")
def world() -> World:
    return World(7)


@pytest.fixture(scope="module")
def jobs(world: World) -> tuple[Job, ...]:
    """GPU jobs that ran within the window on some nodes, whole GPUs, slices and shared ones."""
    ended = SimulatedScheduler(world, lambda: NOW).finished_jobs(WINDOW.start, WINDOW.end).rows
    whole = [job for job in ended if job.start_time and job.start_time >= WINDOW.start]
    held = [job for job in whole if job.allocated.gpus or job.allocated.shards]
    nodes = sorted({node for job in held for node in job.nodes})
    chosen = frozenset((*nodes[:9], *(node for node in nodes if node.startswith("m"))))
    return tuple(job for job in held if set(job.nodes) <= chosen)


@pytest.fixture(scope="module")
def measured(prometheus_server: PrometheusServer, world: World, jobs: tuple[Job, ...]) -> Sequence[AttemptUse]:
    nodes = {node for job in jobs for node in job.nodes}
    write(prometheus_server, world, WINDOW, METRICS, nodes, "measured-attempts")
    metrics = source(prometheus_server, "measured-attempts", scrape_interval_seconds=30)
    found = measure(jobs, metrics, now=NOW, settings=Settings())
    return [found.uses[job.key] for job in jobs]


def test_every_kind_of_job_is_among_them(jobs: tuple[Job, ...], measured: Sequence[AttemptUse]) -> None:
    assert len(jobs) > 20
    assert {gpu.is_slice for use in measured for gpu in use.report.gpus} == {True, False}


def test_means_are_those_of_the_raw_samples(
    world: World, jobs: tuple[Job, ...], measured: Sequence[AttemptUse]
) -> None:
    truth = Truth(world, WINDOW)
    checked = 0
    for job, use in zip(jobs, measured, strict=True):
        if use.report.is_shared or any(gpu.is_slice for gpu in use.report.gpus) or use.report.is_too_short:
            continue
        for metric in METRICS:
            means = [float(one.values.mean()) for one in truth.series(metric, str(job.job_id)) if len(one.values)]
            if means:
                mean = use.report.metrics[metric].value
                assert mean == pytest.approx(float(np.mean(means)), rel=2e-3, abs=2e-4), (job.job_id, metric)
                checked += 1
    assert checked > 50


def test_prometheus_and_the_simulated_source_measure_the_same(
    world: World, jobs: tuple[Job, ...], measured: Sequence[AttemptUse]
) -> None:
    found = measure(jobs, SimulatedMetrics(world, lambda: NOW), now=NOW, settings=Settings())
    for job, use in zip(jobs, measured, strict=True):
        other = found.uses[job.key]
        assert (use.report.coverage, use.report.join) == (other.report.coverage, other.report.join), job.job_id
        for name in ("gpu_hours_allocated", "gpu_hours_measured", "gpu_hours_used", "gpu_hours_idle"):
            ours, theirs = use.hours.values[name], other.hours.values[name]
            assert np.allclose(ours, theirs, atol=2e-4, equal_nan=True), (job.job_id, name)
        assert (use.shape is None) == (other.shape is None)
        if use.shape and other.shape:
            assert use.shape.idle_longest_seconds == other.shape.idle_longest_seconds
            assert use.shape.p50 == pytest.approx(other.shape.p50, abs=2e-3)


def test_the_whole_span_costs_as_many_requests_as_it_has_chunks_and_metrics(
    prometheus_server: PrometheusServer, jobs: tuple[Job, ...], measured: Sequence[AttemptUse]
) -> None:
    metrics = source(prometheus_server, "measured-attempts", scrape_interval_seconds=30)
    costs = []
    for part in (jobs[:1], jobs):
        measure(part, metrics, now=NOW, settings=Settings())  # finds out who exports what at that time
        before = metrics.requests
        measure(part, metrics, now=NOW, settings=Settings())
        costs.append(metrics.requests - before)
    # Who exports what may be asked again when the machine is slow; that does not depend on the jobs either.
    assert len(measured) > 50 and max(costs) <= 3 * len(METRICS)
