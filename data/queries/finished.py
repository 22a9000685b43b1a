"""Jobs that have ended: read in slices of one UTC day, each kept for all viewers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from data.errors import BadRequest, SourceError
from data.model import Job, JobFilter, Rows, Viewer
from data.queries.jobs import MOST_ROWS, fits_filter
from data.queries.scope import may_see
from data.report import UseSource, build_report
from data.sources import Sources

MOST_DAYS = 7
DAY = timedelta(days=1)
_SETTLED = timedelta(hours=1)  # slurmdbd writes the end of a job a little later


@dataclass(frozen=True, slots=True)
class FinishedRow:
    """One attempt that ended. `utilization` and its `source` are from what Slurm keeps (JS1 or its own accounting);
    None = it keeps nothing, and only the job's own page asks the metrics."""

    job: Job
    wait_seconds: float | None
    gpus: int | None
    utilization: float | None = None
    source: UseSource = UseSource.NONE


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """A part of the attempts that ended in [since, until); `total` is how many the filter lets through, `jobs` are
    all that the viewer may see. `unknown` says in words what could not be read."""

    since: datetime
    until: datetime
    rows: tuple[FinishedRow, ...]
    total: int
    jobs: tuple[Job, ...]
    unknown: tuple[str, ...] = ()


SORTS: dict[str, Callable[[Job], Any]] = {
    "id": lambda job: (job.array_job_id or job.job_id, job.job_id),
    "name": lambda job: job.name.lower() or None,
    "user": lambda job: job.user,
    "account": lambda job: job.account,
    "partition": lambda job: job.partition or None,
    "state": lambda job: job.state,
    "gpus": lambda job: _gpus(job),
    "elapsed": lambda job: job.elapsed_seconds,
    "wait": lambda job: _wait(job),
    "end": lambda job: job.end_time,
}


def finished(
    viewer: Viewer,
    sources: Sources,
    wanted: JobFilter,
    *,
    until: datetime,
    days: int,
    sort: str = "-end",
    limit: int = 100,
    offset: int = 0,
) -> FinishedPage:
    """Answer with the attempts that ended in the `days` before `until` and that the viewer may see.

    Raises BadRequest for days outside 1..7, an unknown sort or a limit outside 1..10,000, SourceError when not one
    day could be read.
    """
    key = SORTS.get(sort.removeprefix("-"))
    if key is None or not 1 <= days <= MOST_DAYS or not 1 <= limit <= MOST_ROWS or offset < 0:
        raise BadRequest(f"sort {sort!r}, {days} days, limit {limit}, offset {offset}", hint="Use the page's controls.")
    since = until - timedelta(days=days)
    unknown: list[str] = []
    seen = [job for job in _ended(sources, since, until, unknown) if may_see(viewer, job)]
    fitting = [job for job in seen if fits_filter(job, wanted)]
    known = sorted((job for job in fitting if key(job) is not None), key=key, reverse=sort.startswith("-"))
    ordered = known + [job for job in fitting if key(job) is None]
    rows = tuple(_row(sources, job) for job in ordered[offset : offset + limit])
    return FinishedPage(since, until, rows, len(ordered), tuple(seen), tuple(unknown))


def day_rows(sources: Sources, day: datetime, now: datetime) -> Rows[Job]:
    """The attempts that ended on the UTC day that begins at `day`; those of a past day are read once an hour.

    Not scoped: for the other queries only. Raises SourceError.
    """
    end = min(day + DAY, now)
    kept = sources.days if now - (day + DAY) > _SETTLED else sources.recent
    return kept.get(("ended", day), lambda: _read(sources, day, end))


def _read(sources: Sources, day: datetime, end: datetime) -> Rows[Job]:
    found = sources.scheduler.finished_jobs(day, end)
    rows = tuple(
        {job.key: job for job in found.rows if job.end_time is not None and day <= job.end_time < end}.values()
    )
    return Rows(rows, found.broken, found.broken_examples, found.warnings)


def days_between(since: datetime, until: datetime) -> list[datetime]:
    """The UTC days that the span touches, newest first."""
    first = since.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = []
    while first < until:
        days.append(first)
        first += DAY
    return days[::-1]


def _ended(sources: Sources, since: datetime, until: datetime, unknown: list[str]) -> list[Job]:
    found: list[Job] = []
    failed: list[SourceError] = []
    days = days_between(since, until)
    for day in days:
        try:
            rows = day_rows(sources, day, sources.clock())
        except SourceError as err:
            failed.append(err)
            unknown.append(f"The jobs that ended on {day:%Y-%m-%d} could not be read.")
            continue
        if rows.broken:
            unknown.append(f"{rows.broken} records of {day:%Y-%m-%d} could not be read.")
        found += [job for job in rows.rows if job.end_time is not None and since <= job.end_time < until]
    if len(failed) == len(days) and failed:
        raise failed[0]
    return found


def _row(sources: Sources, job: Job) -> FinishedRow:
    now = job.end_time or sources.clock()
    report = build_report(job, now=now, limits=sources.settings.judgement, findings=sources.settings.findings)
    return FinishedRow(job, _wait(job), _gpus(job), report.utilization.value, report.gpu_source)


def _gpus(job: Job) -> int | None:
    return job.requested.gpus if job.start_time is None else job.allocated.gpus


def _wait(job: Job) -> float | None:
    since = job.eligible_time or job.submit_time
    if since is None or job.start_time is None or job.start_time < since:
        return None
    return (job.start_time - since).total_seconds()
