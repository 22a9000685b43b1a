"""The demo's history: what reading its samples gives, of the jobs that live shows, and no GPU used twice."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from data.history.demo.days import DayMaker
from data.history.measure import AttemptUse, measure
from data.metrics.simulated import SimulatedMetrics
from data.model import Window
from data.simulation import World
from data.simulation.describe import lane_of
from data.simulation.world import Ref
from data.slurm.simulated import SimulatedScheduler
from settings import Settings

DAY = date(2026, 3, 28)  # Europe's clocks change in the night after it
NOW = datetime(2026, 3, 31, 9, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def world() -> World:
    return World(7)


@pytest.fixture(scope="module")
def maker(world: World) -> DayMaker:
    return DayMaker(world, Settings(), NOW)


@pytest.fixture(scope="module")
def chosen(maker: DayMaker) -> list[Ref]:
    """Attempts on few nodes: all on slices and shared GPUs, those that were suspended or run again, and some others."""
    refs = maker.refs(DAY)
    on_parts = [ref for ref in refs if lane_of(ref).kind in {"slice", "shard"}][:25]
    interrupted = [ref for ref in refs if ref.epoch.jobs.suspend_to[ref.row] > 0 or ref.epoch.jobs.restarts[ref.row]]
    every = [*on_parts, *interrupted[:20], *refs[:40]]
    return list({(ref.epoch.group.number, ref.epoch.number, ref.row): ref for ref in every}.values())


@pytest.fixture(scope="module")
def made(maker: DayMaker, chosen: list[Ref]) -> list[AttemptUse]:
    return maker.uses(chosen)


@pytest.fixture(scope="module")
def read(world: World, made: list[AttemptUse], chosen: list[Ref]) -> list[AttemptUse]:
    """The same attempts through the metrics source, chunk by chunk."""
    suspensions = {}
    for ref in chosen:
        begin, end = (float(getattr(ref.epoch.jobs, name)[ref.row]) for name in ("suspend_from", "suspend_to"))
        window = Window(EPOCH + timedelta(seconds=begin), EPOCH + timedelta(seconds=end))
        label, start = int(ref.epoch.jobs.job_id[ref.row]), float(ref.epoch.jobs.start[ref.row])
        for use in made if end > begin else ():
            known = use.job.start_time.timestamp() if use.job.start_time else 0.0
            if known == start and use.job.job_id in (label, label + 1):
                suspensions[use.job.key] = (window,)
    slurm = SimulatedScheduler(world, lambda: NOW)
    found = measure(
        [use.job for use in made],
        SimulatedMetrics(world, lambda: NOW),
        now=NOW,
        settings=Settings(),
        suspensions=suspensions,
        nodes=slurm.nodes().rows,
        partitions=slurm.partitions().rows,
    )
    return [found.uses[use.job.key] for use in made]


def test_all_kinds_of_attempts_are_compared(made: list[AttemptUse]) -> None:
    assert len(made) > 60
    assert any(use.job.restart_count for use in made)
    assert any(use.job.suspended_seconds and use.report.gpu_count for use in made)
    assert {gpu.is_slice for use in made for gpu in use.report.gpus} == {True, False}


def test_every_number_is_that_of_reading_the_samples(made: list[AttemptUse], read: list[AttemptUse]) -> None:
    requeued = [use.job.key for use in made if use.job.state == "REQUEUED" or use.job.restart_count]
    assert len(requeued) < len(made) / 3  # reading leaves out a step at their edge, in which another attempt may be
    for one, other in zip(made, read, strict=True):
        job = one.job.display_id
        if one.job.key in requeued:
            continue
        assert (one.findings, one.flags, one.source) == (other.findings, other.flags, other.source), job
        assert one.report.coverage == pytest.approx(other.report.coverage), job
        # a step of 5 minutes may hold the memory of the attempt before, under the same label
        for name in ("cpu", "gpu_memory", *(["memory"] if not one.job.restart_count else [])):
            assert getattr(one.report, name).used == pytest.approx(getattr(other.report, name).used), (job, name)
        assert [n.host_coverage for n in one.report.nodes] == [n.host_coverage for n in other.report.nodes], job
        assert set(one.report.metrics) == set(other.report.metrics), job
        for name, mean in one.report.metrics.items():
            assert mean.value == pytest.approx(other.report.metrics[name].value, rel=1e-9, abs=1e-12), (job, name)
        assert one.hours.begin.tolist() == other.hours.begin.tolist()
        assert set(one.hours.values) == set(other.hours.values)
        for name, values in one.hours.values.items():
            assert np.allclose(values, other.hours.values[name], rtol=1e-7, atol=1e-9, equal_nan=True), (job, name)
        assert one.energy == pytest.approx(other.energy), job


def test_shapes_and_profiles_are_those_of_reading_the_samples(made: list[AttemptUse], read: list[AttemptUse]) -> None:
    assert sum(use.profile is not None for use in made) > 30
    for one, other in zip(made, read, strict=True):
        assert one.shape == other.shape, one.job.display_id
        assert (one.profile is None) == (other.profile is None)
        if one.profile and other.profile:
            for name in ("mean", "maximum", "measured"):
                assert getattr(one.profile, name).tolist() == getattr(other.profile, name).tolist()


def test_its_jobs_are_those_that_slurm_shows(world: World, maker: DayMaker) -> None:
    start = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)
    shown = SimulatedScheduler(world, lambda: NOW).finished_jobs(start, start + timedelta(days=1)).rows
    ended = {job.key for job in shown if job.end_time and start <= job.end_time < start + timedelta(days=1)}
    made = {use.job.key for use in maker.uses(maker.refs(DAY))}
    assert made == ended and len(made) > 300


def test_no_gpu_is_used_twice_at_once(world: World) -> None:
    start = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC).timestamp()
    spans: defaultdict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for ref in world.overlapping(start, start + 14 * 86400):
        lane = lane_of(ref)
        for machine, indices in lane.places if lane.kind != "shard" else ():
            held = (float(ref.epoch.jobs.start[ref.row]), float(ref.epoch.jobs.end[ref.row]))
            for index in indices:
                spans[(machine.name, index)].append(held)
    assert len(spans) > 400
    for place, held in spans.items():
        held.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(held)), place
