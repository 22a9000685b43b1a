"""Which attempts of jobs ran in a window, and what of each lies in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from data.ended_days import days_between, ended_on
from data.errors import SourceError
from data.model import Job, JobUsage, Window
from data.sources import Sources


def attempts_in(sources: Sources, window: Window, unknown: list[str]) -> list[Job]:
    """Everybody's attempts with GPUs that ran in the window; in words to `unknown` what could not be read."""
    jobs = [job for job in sources.live.snapshot().jobs if job.job_id]
    ended = _ended(sources, window, unknown)
    known = {_same(job): job for job in (*jobs, *ended)}  # an end that is known counts
    return [job for job in known.values() if _ran(job, window) and _may_hold(job)]


def _ended(sources: Sources, window: Window, unknown: list[str]) -> Iterable[Job]:
    """Attempts that ended since the window began; those of whole past days are kept for everybody."""
    now = sources.clock()
    for day in days_between(window.start, now):
        try:
            rows = ended_on(sources.scheduler, sources.days, sources.recent, day, now)
        except SourceError:
            unknown.append(f"The jobs that ended on {day:%Y-%m-%d} could not be read.")
            continue
        if rows.broken:
            unknown.append(f"{rows.broken} records of {day:%Y-%m-%d} could not be read.")
        yield from rows.rows


def _same(job: Job) -> tuple[int, datetime | None]:
    return (job.job_id, job.start_time)


def _ran(job: Job, window: Window) -> bool:
    start, end = job.start_time, job.end_time
    return start is not None and start < window.end and (end is None or end > window.start)


def _may_hold(job: Job) -> bool:
    """Not those that surely hold no GPU; where Slurm does not track GPUs, only the metrics know."""
    return job.allocated.gpus != 0 or bool(job.allocated.shards) or any(held.gpu_count for held in job.devices)


def span_in(job: Job, window: Window) -> Window:
    """The part of the window in which the attempt ran."""
    start = job.start_time or window.start
    return Window(max(start, window.start), min(job.end_time or window.end, window.end))


def cut(job: Job, window: Window) -> Job:
    """The attempt as if it had begun and ended with the window.

    What Slurm keeps of a whole run stays only with one that lies within. Earlier suspended time is spread evenly.
    """
    start, end = job.start_time or window.start, job.end_time
    ended_within = end is not None and end <= window.end
    if start >= window.start and ended_within:
        return job
    inside = span_in(job, window)
    whole = ((end or window.end) - start).total_seconds()
    share = min(1.0, inside.seconds / whole) if whole > 0 else 1.0
    is_running = "RUNNING" if not ended_within and job.state != "SUSPENDED" else job.state
    return replace(
        job,
        state=is_running,
        start_time=inside.start,
        end_time=end if ended_within else None,
        elapsed_seconds=None,
        suspended_seconds=job.suspended_seconds * share,
        suspend_time=None if job.suspend_time is None else max(job.suspend_time, inside.start),
        admin_comment=None,
        usage=JobUsage(),
    )
