"""Which attempts of jobs an answer names, and one attempt from what slurmctld and slurmdbd each know of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from data.errors import NotFound, SourceError
from data.model import ExitCode, Job, JobId, JobUsage, PendingDetail, Rows, Tres

_LIVE_STATES: Final = frozenset(
    {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}
)
_TASK_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_UNKNOWN: Final[tuple[Any, ...]] = (None, "", (), Tres(), JobUsage())
_DAY: Final = timedelta(days=1)
_EARLIEST: Final = datetime(1970, 1, 2, tzinfo=UTC)


def is_live(job: Job) -> bool:
    """Whether the job is pending, running, suspended or completing: slurmctld also lists jobs that ended."""
    return job.state in _LIVE_STATES or not _LIVE_STATES.isdisjoint(job.state_flags)


def live(rows: Rows[Job]) -> Rows[Job]:
    return replace(rows, rows=tuple(job for job in rows.rows if is_live(job)))


def without_end(rows: Rows[Job]) -> Rows[Job]:
    """Rows that say of themselves that they go on."""
    return replace(rows, rows=tuple(job for job in rows.rows if is_live(job) and job.end_time is None))


def ended_within(jobs: Iterable[Job], since: datetime, until: datetime) -> tuple[Job, ...]:
    """Ended attempts that ran at some moment of [since, until), each once, in order of their end."""
    found = {
        job.key: job
        for job in jobs
        if not is_live(job)
        and job.start_time is not None
        and job.end_time is not None
        and job.start_time < until
        and job.end_time > since
    }
    return tuple(sorted(found.values(), key=lambda job: (job.end_time or since, job.job_id)))


def without_doubtful_codes(rows: Rows[Job]) -> Rows[Job]:
    """Exit codes as far as v0.0.38 can be believed: its slurmdbd says SUCCESS and 0 whatever a job ended with."""
    return replace(rows, rows=tuple(replace(job, exit_code=None) if _is_doubtful(job) else job for job in rows.rows))


def _is_doubtful(job: Job) -> bool:
    return job.state != "COMPLETED" and job.exit_code is not None and job.exit_code.status == "SUCCESS"


def day_slices(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Cut a span at the days of UTC, so that no answer grows with its length."""
    start = since
    while start < until:
        midnight = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
        end = min(midnight, until)
        yield start, end
        start = end


def named_by(job: Job, wanted: JobId) -> bool:
    """Whether this attempt is what the id means; the id of an array or het job means all its parts."""
    if wanted.het is not None:
        return job.het_job_id == wanted.job and job.het_offset == wanted.het
    if isinstance(wanted.task, int):
        return job.array_job_id == wanted.job and (
            job.array_task_id == wanted.task or _holds_task(job.array_tasks, wanted.task)
        )
    return wanted.job in (job.job_id, job.array_job_id, job.het_job_id)


def attempts_of(wanted: JobId, known_live: Iterable[Job], recorded: Iterable[Job]) -> tuple[Job, ...]:
    """Every attempt that the id names, newest first, each with all that either daemon knows of it."""
    found = {_attempt(job): job for job in recorded if named_by(job, wanted)}
    for job in known_live:
        if named_by(job, wanted):
            key = _attempt(job)
            # Of a job that just started slurmdbd may still say that it waits.
            waiting = None if job.state == "PENDING" else found.pop((job.job_id, job.submit_time, None), None)
            recorded_too = found.get(key, waiting)
            found[key] = job if recorded_too is None else merged(job, recorded_too)
    return tuple(sorted(found.values(), key=_newest, reverse=True))


def from_both(
    wanted: JobId, ask_current: Callable[[], Iterable[Job]], ask_recorded: Callable[[], Iterable[Job]]
) -> tuple[Job, ...]:
    """Ask slurmctld and slurmdbd; when only one answers, what it knows is given, when neither does its error raised."""
    answers: list[tuple[Job, ...]] = []
    errors: list[SourceError] = []
    for ask in (ask_current, ask_recorded):
        try:
            answers.append(tuple(ask()))
        except NotFound:
            answers.append(())
        except SourceError as err:
            answers.append(())
            errors.append(err)
    found = attempts_of(wanted, *answers)
    if errors and not found:
        raise errors[0]
    return found


def merged(current: Job, recorded: Job) -> Job:
    """One attempt from slurmctld's and slurmdbd's view.

    While it lives slurmctld is right; once it ended slurmdbd is, and each fills what the other does not know.
    """
    first, second = (current, recorded) if is_live(current) else (recorded, current)
    missing = {
        field.name: getattr(second, field.name)
        for field in fields(Job)
        if getattr(first, field.name) in _UNKNOWN and getattr(second, field.name) not in _UNKNOWN
    }
    if is_live(current):
        for still_open in ("end_time", "elapsed_seconds"):
            missing.pop(still_open, None)
    codes = {
        "exit_code": _exit_code(current.exit_code, recorded.exit_code),
        "derived_exit_code": _exit_code(current.derived_exit_code, recorded.derived_exit_code),
    }
    # slurmdbd may keep a name only in part: quotes become backticks, letters question marks.
    return replace(first, **missing | codes | {"name": current.name or recorded.name})


def waiting(rows: Rows[Job]) -> Rows[PendingDetail]:
    """What slurmctld says of pending jobs: expected start and priority, without the priority's parts."""
    details = tuple(
        PendingDetail(job.job_id, job.display_id, job.expected_start_time, job.priority)
        for job in rows.rows
        if job.state == "PENDING"
    )
    return Rows(details, rows.broken, rows.broken_examples, rows.warnings)


def _exit_code(current: ExitCode | None, recorded: ExitCode | None) -> ExitCode | None:
    """The finer of two: sacct shows 137 as 9 and a signal as nothing, slurmctld nothing of a launch that failed."""
    for found in (current, recorded):
        if found is not None and found.code:
            return found
    return current if current is not None and current.signal else recorded or current


def _attempt(job: Job) -> tuple[int, datetime | None, datetime | None]:
    """Submit and start time; a waiting attempt has no start, whatever the scheduler expects."""
    return (job.job_id, job.submit_time, None if job.state == "PENDING" else job.start_time)


def _newest(job: Job) -> tuple[datetime, datetime, int, int, int]:
    submit = job.submit_time or _EARLIEST
    task = -1 if job.array_task_id is None else job.array_task_id
    return (submit, job.start_time or submit, -(job.het_offset or 0), task, job.job_id)


def _holds_task(tasks: str | None, task: int) -> bool:
    for match in _TASK_RANGE.finditer((tasks or "").partition("%")[0].strip("[] ")):
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if task in range(first, last + 1, max(1, step)):
            return True
    return False
