"""Finished jobs in slices of one UTC day, so that a slice can be kept for all who ask."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from data.model import Job, Rows
from data.protocols import SchedulerSource
from data.recent import Recent

DAY = timedelta(days=1)
_SETTLED = timedelta(hours=1)  # slurmdbd writes the end of a job a little later


def days_between(since: datetime, until: datetime) -> list[datetime]:
    """The first moments of the UTC days that [since, until) touches, newest first."""
    first = since.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = []
    while first < until:
        days.append(first)
        first += DAY
    return days[::-1]


def is_settled(day: datetime, now: datetime) -> bool:
    """Whether no more jobs will be known to have ended on the day."""
    return now - (day + DAY) > _SETTLED


def ended_on(scheduler: SchedulerSource, kept: Recent, recent: Recent, day: datetime, now: datetime) -> Rows[Job]:
    """Everybody's attempts that ended on the UTC day that begins at `day`, each once; settled days are held in `kept`,
    others in `recent`. Raises SourceError."""
    end = min(day + DAY, now)
    return (kept if is_settled(day, now) else recent).get(("ended", day), lambda: _read(scheduler, day, end))


def _read(scheduler: SchedulerSource, day: datetime, end: datetime) -> Rows[Job]:
    found = scheduler.finished_jobs(day, end)
    inside = {job.key: job for job in found.rows if job.end_time is not None and day <= job.end_time < end}
    return Rows(tuple(inside.values()), found.broken, found.broken_examples, found.warnings)
