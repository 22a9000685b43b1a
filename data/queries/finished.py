"""Jobs that have ended: read in slices of one UTC day, each kept for all viewers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from data.ended_days import days_between, ended_on
from data.errors import BadRequest, SourceError
from data.job_filter import fits_filter
from data.model import Job, JobFilter, Viewer
from data.queries.jobs import MOST_ROWS
from data.queries.scope import may_see
from data.report import UseSource, build_report
from data.sources import Sources

if TYPE_CHECKING:
    from data.history.recorded_use import RecordedUse

MOST_DAYS = 7


@dataclass(frozen=True, slots=True)
class FinishedRow:
    """One attempt that ended. `utilization` and its `source` are from what Slurm keeps (JS1 or its own accounting),
    else from the history, with the smallest share of a device's time that was measured as `coverage`; None = neither
    has it, and only the job's own page asks the metrics."""

    job: Job
    wait_seconds: float | None
    gpus: int | None
    utilization: float | None = None
    source: UseSource = UseSource.NONE
    coverage: float | None = None


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """A part of the attempts that ended in [since, until); `total` is how many the filter lets through, `jobs` are
    all that the viewer may see. `unknown` says in words what could not be read;
    `unread` days were left for the next call."""

    since: datetime
    until: datetime
    rows: tuple[FinishedRow, ...]
    total: int
    jobs: tuple[Job, ...]
    unknown: tuple[str, ...] = ()
    unread: int = 0


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
    budget_seconds: float | None = None,
) -> FinishedPage:
    """Answer with the attempts that ended in the `days` before `until` and that the viewer may see.

    Days are read newest first; after `budget_seconds` of wall time (None = no end) the rest is left for the next call,
    for which those that were read are kept.

    Raises BadRequest for days outside 1..7, an unknown sort or a limit outside 1..10,000, SourceError when not one
    day could be read.
    """
    key = SORTS.get(sort.removeprefix("-"))
    if key is None or not 1 <= days <= MOST_DAYS or not 1 <= limit <= MOST_ROWS or offset < 0:
        raise BadRequest(f"sort {sort!r}, {days} days, limit {limit}, offset {offset}", hint="Use the page's controls.")
    since = until - timedelta(days=days)
    unknown: list[str] = []
    found, unread = _ended(sources, since, until, unknown, budget_seconds)
    seen = [job for job in found if may_see(viewer, job)]
    fitting = [job for job in seen if fits_filter(job, wanted)]
    known = sorted((job for job in fitting if key(job) is not None), key=key, reverse=sort.startswith("-"))
    ordered = known + [job for job in fitting if key(job) is None]
    rows = _with_history(sources, [_row(sources, job) for job in ordered[offset : offset + limit]], unknown)
    return FinishedPage(since, until, rows, len(ordered), tuple(seen), tuple(unknown), unread)


def _ended(
    sources: Sources, since: datetime, until: datetime, unknown: list[str], budget_seconds: float | None
) -> tuple[list[Job], int]:
    began, now = time.monotonic(), sources.clock()
    found: list[Job] = []
    failed: list[SourceError] = []
    days = days_between(since, until)
    for place, day in enumerate(days):
        if place and budget_seconds is not None and time.monotonic() - began > budget_seconds:
            return found, len(days) - place
        try:
            rows = ended_on(sources.scheduler, sources.days, sources.recent, day, now)
        except SourceError as err:
            failed.append(err)
            unknown.append(f"The jobs that ended on {day:%Y-%m-%d} could not be read.")
            continue
        if rows.broken:
            unknown.append(f"{rows.broken} records of {day:%Y-%m-%d} could not be read.")
        found += [job for job in rows.rows if job.end_time is not None and since <= job.end_time < until]
    if failed and len(failed) == len(days):
        raise failed[0]
    return found, 0


def _row(sources: Sources, job: Job) -> FinishedRow:
    now = job.end_time or sources.clock()
    report = build_report(job, now=now, limits=sources.settings.judgement, findings=sources.settings.findings)
    return FinishedRow(job, _wait(job), _gpus(job), report.utilization.value, report.gpu_source)


def _with_history(sources: Sources, rows: list[FinishedRow], unknown: list[str]) -> tuple[FinishedRow, ...]:
    """What Slurm does not keep, from the history: one reading, however many rows."""
    directory = sources.settings.history.directory
    lacking = [row.job for row in rows if row.gpus and row.utilization is None]
    if directory is None or not lacking:
        return tuple(rows)
    from data.history.recorded_use import recorded_use  # Arrow is loaded only where a history is kept

    try:
        found = recorded_use(directory, lacking)
    except OSError:
        unknown.append("The history could not be read, so that some jobs have no utilization here.")
        return tuple(rows)
    return tuple(_filled(row, found.get(row.job.key)) for row in rows)


def _filled(row: FinishedRow, found: RecordedUse | None) -> FinishedRow:
    if found is None or row.utilization is not None:
        return row
    return replace(row, utilization=found.utilization, source=found.source, coverage=found.coverage)


def _gpus(job: Job) -> int | None:
    return job.requested.gpus if job.start_time is None else job.allocated.gpus


def _wait(job: Job) -> float | None:
    since = job.eligible_time or job.submit_time
    if since is None or job.start_time is None or job.start_time < since:
        return None
    return (job.start_time - since).total_seconds()
