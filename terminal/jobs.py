"""`fullwarp jobs` on screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from rich.console import RenderableType

from data.model import JoinMethod
from data.queries.jobs import JobPage, JobRow
from data.queries.pending import Waiting
from data.words import clock, count, duration, number, of, percent
from terminal.status import moment, source_lines
from terminal.tables import Column, line, table

COLUMNS = (
    Column("JOBID"),
    Column("USER"),
    Column("PARTITION"),
    Column("STATE"),
    Column("GPUS", True),
    Column("UTIL", True),
    Column("IDLE", True),
    Column("TIME", True),
    Column("ACCOUNT", is_wide=True),
    Column("NAME", is_wide=True),
    Column("NODES / REASON", is_wide=True),
)


def job_lines(page: JobPage, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """One line per job; TIME is the run time, or the wait of a pending job."""
    yield from row_lines(page.rows, width)
    yield line(f"{of(len(page.rows), page.total, 'job')}, {moment(page.time, zone, is_past=page.is_past)}")
    yield from source_lines(page.sources, page.unknown, page.time)


def row_lines(rows: Sequence[JobRow], width: int) -> Iterator[RenderableType]:
    """The table alone."""
    yield table(COLUMNS, (_row(row) for row in rows), width)


def _row(row: JobRow) -> tuple[str, ...]:
    job = row.job
    waits = job.state == "PENDING"
    tasks = f" x{number(job.array_task_count)}" if job.array_task_count > 1 else ""
    return (
        job.display_id + tasks,
        job.user or "",
        job.partition,
        job.state,
        "" if row.gpus is None else number(row.gpus),
        percent(row.utilization) + ("~" if row.join is JoinMethod.NODE_ESTIMATE and row.gpus_measured else ""),
        number(row.gpus_idle) if row.gpus_measured else "",
        duration(row.wait_seconds if waits else row.elapsed_seconds),
        job.account or "",
        job.name,
        (job.reason or "") if waits else _nodes(job.nodes),
    )


def _nodes(names: tuple[str, ...]) -> str:
    return ",".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def waiting_lines(row: Waiting, zone: tzinfo) -> Iterator[RenderableType]:
    """Why one job waits, and when it may start."""
    yield line(("Why it waits: ", "bold"), row.why, " This does not pass by itself." if row.never else "")
    if row.expected_start_time is not None and row.job.submit_time is not None:
        yield line(f"Slurm expects it to start at {clock(row.expected_start_time, zone, row.job.submit_time)}.")
    if row.fit:
        names = ", ".join(one.node for one in row.fit[:3])
        yield line(f"Free now where it would fit: {count(row.free_gpus, 'GPU')}, on {names}; others may come first.")
