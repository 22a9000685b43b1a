"""The world is a function of seed and instant, and the live view and the history are one story."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from data.errors import BadRequest
from data.metrics.simulated import SimulatedMetrics
from data.model import Job, Scope, Window
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler

TUESDAY = datetime(2026, 11, 24, 10, 17, 3, tzinfo=UTC)


def clock(at: datetime) -> Callable[[], datetime]:
    return lambda: at


def test_two_processes_started_at_different_times_tell_the_same_of_last_tuesday(scheduler: SimulatedScheduler) -> None:
    then = SimulatedScheduler(World(7), clock(TUESDAY))
    later = SimulatedScheduler(World(7), clock(TUESDAY + timedelta(days=40)))
    later.jobs()
    assert then.jobs() == later.jobs(TUESDAY) == scheduler.jobs(TUESDAY)
    assert then.nodes() == later.nodes(TUESDAY) == scheduler.nodes(TUESDAY)


def test_metrics_of_a_past_window_do_not_depend_on_when_they_are_asked(world: World) -> None:
    window = Window(TUESDAY - timedelta(hours=1), TUESDAY)
    names = ["gpu_utilization", "power_watts", "energy_joules", "cpu_seconds"]
    then = SimulatedMetrics(World(7), clock(TUESDAY))
    later = SimulatedMetrics(world, clock(TUESDAY + timedelta(days=9)))
    assert then.window(names, window) == later.window(names, window)
    assert then.latest(names).devices == later.latest(names, TUESDAY).devices


def test_another_seed_is_another_cluster(scheduler: SimulatedScheduler) -> None:
    other = SimulatedScheduler(World(8), clock(TUESDAY))
    assert {job.job_id for job in other.jobs().rows} != {job.job_id for job in scheduler.jobs(TUESDAY).rows}


def _story(job: Job) -> tuple[object, ...]:
    return (
        job.display_id,
        job.submit_time,
        job.start_time,
        job.user,
        job.account,
        job.name,
        job.nodes,
        job.allocated.gpus,
        job.allocated.cpus,
    )


def test_finished_jobs_are_exactly_those_that_the_live_view_showed(
    scheduler: SimulatedScheduler, now: datetime
) -> None:
    start = now - timedelta(hours=30)
    looks = [start + timedelta(minutes=20 * i) for i in range(60)]
    seen = {_story(job) for at in looks for job in scheduler.jobs(at).rows if job.start_time is not None}
    over = scheduler.finished_jobs(start, now).rows
    running = {_story(job) for job in scheduler.jobs().rows if job.start_time is not None}
    expected = {
        _story(job)
        for job in over
        if any(
            job.start_time is not None and job.end_time is not None and job.start_time <= at < job.end_time
            for at in looks
        )
    }
    assert len(expected) > 300
    assert expected <= seen
    assert seen <= {_story(job) for job in over} | running


def test_a_waiting_job_starts_later_with_the_same_id_and_shape(scheduler: SimulatedScheduler, now: datetime) -> None:
    before = now - timedelta(days=2)
    waiting = [job for job in scheduler.jobs(before).rows if job.state == "PENDING" and job.array_job_id is None]
    attempts = scheduler.finished_jobs(before, now).rows + scheduler.jobs().rows
    later = {(job.display_id, job.submit_time): job for job in attempts}
    assert len(waiting) > 10
    for job in waiting:
        found = later[(job.display_id, job.submit_time)]
        assert (found.user, found.name, found.partition, found.requested) == (
            job.user,
            job.name,
            job.partition,
            job.requested,
        )


def test_job_ids_are_unique_and_grow_with_the_time_of_submission(scheduler: SimulatedScheduler, now: datetime) -> None:
    jobs = [job for job in scheduler.finished_jobs(now - timedelta(days=14), now).rows if job.restart_count == 0]
    assert len({job.job_id for job in jobs}) == len(jobs) > 8000
    heads = sorted(
        (j for j in jobs if j.array_job_id in (None, j.job_id) and j.het_offset != 1), key=lambda j: j.job_id
    )
    submits = [job.submit_time for job in heads]
    assert submits == sorted(submits)


def test_every_job_is_found_by_its_ids(scheduler: SimulatedScheduler, now: datetime) -> None:
    live = scheduler.jobs().rows
    over = scheduler.finished_jobs(now - timedelta(hours=6), now).rows
    for job in (*live, *over):
        assert _story(job) in {_story(found) for found in scheduler.job(str(job.job_id))}, job.display_id
        assert job.display_id in {found.display_id for found in scheduler.job(job.display_id)}


@pytest.mark.parametrize("job_id", ["1", "99", "67108863", "9999999999"])
def test_an_unknown_id_finds_nothing(scheduler: SimulatedScheduler, job_id: str) -> None:
    assert scheduler.job(job_id) == ()


def test_the_time_zone_of_the_question_changes_nothing(scheduler: SimulatedScheduler) -> None:
    for offset in (-8, 2, 13):
        assert scheduler.jobs(TUESDAY.astimezone(timezone(timedelta(hours=offset)))) == scheduler.jobs(TUESDAY)


def test_midnight_and_the_end_of_summer_time_break_no_job(scheduler: SimulatedScheduler) -> None:
    for edge in (datetime(2026, 10, 25, 1, tzinfo=UTC), datetime(2026, 11, 1, 0, tzinfo=UTC)):
        before, after = (scheduler.jobs(edge + timedelta(seconds=s)).rows for s in (-60, 60))
        held = [{job.job_id for job in rows if job.state == "RUNNING"} for rows in (before, after)]
        assert len(held[0] & held[1]) > 0.9 * len(held[0])


def test_the_future_is_not_told(scheduler: SimulatedScheduler, metrics: SimulatedMetrics, now: datetime) -> None:
    ahead = now + timedelta(seconds=1)
    with pytest.raises(BadRequest, match="future"):
        scheduler.jobs(ahead)
    with pytest.raises(BadRequest, match="future"):
        scheduler.nodes(ahead)
    with pytest.raises(BadRequest, match="future"):
        metrics.latest(["gpu_utilization"], ahead)
    with pytest.raises(BadRequest, match="future"):
        metrics.window(["gpu_utilization"], Window(now, ahead))
    assert all(job.end_time is None for job in scheduler.jobs().rows)
    ends = [job.end_time for job in scheduler.finished_jobs(now - timedelta(hours=1), now + timedelta(days=1)).rows]
    assert all(end is not None and end <= now for end in ends)


def test_a_time_without_a_zone_or_before_the_cluster_is_refused(scheduler: SimulatedScheduler) -> None:
    with pytest.raises(BadRequest, match="time zone"):
        scheduler.jobs(datetime(2026, 11, 24))
    with pytest.raises(BadRequest, match="before"):
        scheduler.jobs(datetime(2020, 1, 1, tzinfo=UTC))


def test_a_scope_of_nobody_reads_nothing(metrics: SimulatedMetrics, now: datetime) -> None:
    window = Window(now - timedelta(hours=1), now)
    reading = metrics.window(["gpu_utilization"], window, Scope(job_labels=frozenset()))
    assert reading.stats == ()
