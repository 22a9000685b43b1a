"""The list of jobs as a page shows it: running, waiting or finished, with what the filters can be set to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from data.errors import BadRequest, SourceError
from data.job_filter import job_options
from data.model import ClusterSnapshot, Job, JobFilter, Viewer
from data.queries.finished import SORTS as FINISHED_SORTS
from data.queries.finished import FinishedRow, finished
from data.queries.jobs import MOST_ROWS, SORTS, JobRow, job_rows
from data.queries.live import snapshot
from data.sources import Sources

Row = JobRow | FinishedRow


class Show(StrEnum):
    RUNNING = "running"
    PENDING = "pending"
    FINISHED = "finished"


DEFAULT_SORTS = {Show.RUNNING: "-idle", Show.PENDING: "-priority", Show.FINISHED: "-end"}


@dataclass(frozen=True, slots=True)
class ListQuestion:
    """Which jobs, in which order. `sort` "" = the usual one of the list. `days` and
    `budget_seconds` (see `finished`) count for finished jobs."""

    show: Show = Show.RUNNING
    filter: JobFilter = field(default_factory=JobFilter)
    days: int = 1
    sort: str = ""
    limit: int = 100
    offset: int = 0
    at: datetime | None = None
    budget_seconds: float | None = None

    @property
    def order(self) -> str:
        known = FINISHED_SORTS if self.show is Show.FINISHED else SORTS
        return self.sort if self.sort.removeprefix("-") in known else DEFAULT_SORTS[self.show]


@dataclass(frozen=True, slots=True)
class JobList:
    """`snapshot` is the picture that the list stands in; `running` and `pending` count all that the viewer may see,
    pending arrays by their tasks. `error` = the finished jobs could not be read at all, `unread` = so
    many of their days come with the next call."""

    snapshot: ClusterSnapshot
    rows: tuple[Row, ...]
    total: int
    running: int
    pending: int
    options: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...] = ()
    error: SourceError | None = None
    unread: int = 0


def job_list(viewer: Viewer, sources: Sources, asked: ListQuestion) -> JobList:
    """Answer with one page of the list. Raises BadRequest for a limit outside 1..10,000, SourceError when there is no
    picture at all."""
    if not 1 <= asked.limit <= MOST_ROWS or asked.offset < 0:
        raise BadRequest(f"limit {asked.limit}, offset {asked.offset}", hint=f"limit is 1 to {MOST_ROWS}.")
    whole = snapshot(viewer, sources, at=asked.at)
    seen = [job for job in whole.jobs if job.job_id]
    running = sum(not _waits(job) for job in seen)
    pending = sum(job.array_task_count for job in seen if _waits(job))
    if asked.show is Show.FINISHED:
        return _finished(viewer, sources, asked, whole, (running, pending))
    mine = [job for job in seen if _waits(job) == (asked.show is Show.PENDING)]
    rows = _sorted(job_rows(viewer, replace(whole, jobs=tuple(mine)), asked.filter), asked.order)
    cut = tuple(rows[asked.offset : asked.offset + asked.limit])
    return JobList(whole, cut, len(rows), running, pending, job_options(mine), whole.unknown)


def every_row(viewer: Viewer, sources: Sources, asked: ListQuestion) -> Iterator[Row]:
    """All rows of the list, page after page; raises as `job_list`, and the error of unreadable finished jobs."""
    offset = 0
    while True:
        found = job_list(viewer, sources, replace(asked, limit=MOST_ROWS, offset=offset))
        if found.error is not None:
            raise found.error
        yield from found.rows
        offset += MOST_ROWS
        if offset >= found.total:
            return


def _waits(job: Job) -> bool:
    return job.state == "PENDING"


def _sorted(rows: list[JobRow], order: str) -> list[JobRow]:
    key = SORTS[order.removeprefix("-")]
    known = [row for row in rows if key(row) is not None]
    known.sort(key=key, reverse=order.startswith("-"))
    return known + [row for row in rows if key(row) is None]


def _finished(
    viewer: Viewer, sources: Sources, asked: ListQuestion, whole: ClusterSnapshot, counts: tuple[int, int]
) -> JobList:
    until = asked.at or sources.clock()
    try:
        page = finished(
            viewer,
            sources,
            asked.filter,
            until=until,
            days=asked.days,
            sort=asked.order,
            limit=asked.limit,
            offset=asked.offset,
            budget_seconds=asked.budget_seconds,
        )
    except SourceError as err:
        return JobList(whole, (), 0, *counts, job_options(()), error=err)
    return JobList(whole, page.rows, page.total, *counts, job_options(page.jobs), page.unknown, unread=page.unread)
