"""Rows of the three job lists: running, waiting, finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from components.data_table import Column, ratio_cell
from components.elements import icon, moment
from components.job_words import (
    DASH,
    gpu_words,
    job_link,
    node_link,
    nodes_words,
    state_cell,
    time_words,
    user_link,
)
from data.metrics.registry import METRICS
from data.model import Job, JoinMethod
from data.pending_reasons import reason_words
from data.queries.finished import FinishedRow
from data.queries.job_list import Row, Show
from data.queries.jobs import JobRow
from data.report import UseSource
from data.words import duration, number, of, percent

_WHOLE = 0.95  # what is measured of a job that was measured from its start to its end: samples fall where they fall
_UTIL = METRICS["gpu_utilization"].help
_JOB = Column("Job", "", "id", place="main")
_USER = Column("User", "account", "user")
_PARTITION = Column("Partition", "", "partition", place="hidden")
_GPUS = Column("GPUs", "", "gpus", True)
_WAIT = Column("Wait", "", "wait", True, "From the time the job could start to its start.", place="hidden")

COLUMNS: dict[Show, tuple[Column, ...]] = {
    Show.RUNNING: (
        _JOB,
        _USER,
        _PARTITION,
        Column("State", "", "state", place="hidden"),
        _GPUS,
        Column("UTIL", "now, %", "utilization", True, _UTIL, place="value"),
        Column("Idle", "GPUs now", "idle", True, "GPUs that the job holds and does not use now."),
        Column("Elapsed", "of limit", "elapsed", True),
        _WAIT,
        Column("Nodes", place="hidden"),
    ),
    Show.PENDING: (
        _JOB,
        _USER,
        _PARTITION,
        Column("State", "", "state", place="hidden"),
        _GPUS,
        Column("Waits", "", "wait", True, "Since the job could have started.", place="value"),
        Column("Limit", "", "", True, place="hidden"),
        Column("Priority", "", "priority", True, place="hidden"),
        Column("Why it waits"),
    ),
    Show.FINISHED: (
        _JOB,
        _USER,
        _PARTITION,
        Column("State", "", "state"),
        _GPUS,
        Column("UTIL", "mean, %", "", True, f"{_UTIL} As a JS1 summary, Slurm or the history keeps it.", place="value"),
        Column("Elapsed", "of limit", "elapsed", True),
        _WAIT,
        Column("Nodes", place="hidden"),
        Column("Ended", "", "end", True),
    ),
}


def table_rows(rows: Sequence[Row], show: Show, base: str) -> list[list[Any]]:
    """The cells of each row, in the order of COLUMNS."""
    return [_cells(row, show, base) for row in rows]


def _cells(row: Row, show: Show, base: str) -> list[Any]:
    if isinstance(row, FinishedRow):
        return [*_who(row.job, row.gpus, base), *_finished(row, base)]
    more = _running(row, base) if show is Show.RUNNING else _pending(row)
    return [*_who(row.job, row.gpus, base), *more]


def _who(job: Job, gpus: int | None, base: str) -> list[Any]:
    owner = [user_link(base, job.user), html.Bdi(job.account or "", className="fw-under")]
    held: Any = gpu_words(job, gpus)
    if job.array_task_count > 1:
        held = html.Div([held, html.Span(f"each of {number(job.array_task_count)} tasks", className="fw-under")])
    return [job_link(base, job, with_name=True), html.Div(owner), html.Bdi(job.partition), state_cell(job.state), held]


def _running(row: JobRow, base: str) -> list[Any]:
    return [
        _utilization(row),
        _idle(row),
        _elapsed(row.job, row.elapsed_seconds),
        DASH if row.wait_seconds is None else duration(row.wait_seconds),
        _nodes(row.job, base),
    ]


def _utilization(row: JobRow) -> Any:
    if not row.gpus and not row.gpus_measured:
        return html.Span(DASH, title="holds no GPU")
    is_partial = row.gpus is not None and 0 < row.gpus_measured < row.gpus
    notes = [of(row.gpus_measured, row.gpus, "GPU") + " measured"] if is_partial else []
    if row.join is JoinMethod.NODE_ESTIMATE and row.gpus_measured:
        notes.append("node estimate")
    if row.is_shared:
        notes.append("shared")
    return ratio_cell(row.utilization, note=", ".join(notes))


def _idle(row: JobRow) -> Any:
    if not row.gpus_measured:
        return html.Span(DASH, title="not measured" if row.gpus else "holds no GPU")
    if not row.gpus_idle:
        return "0"
    of_all = f" / {number(row.gpus)}" if row.gpus else ""
    return html.Span(
        [icon("waste", "waste", label="held, idle"), number(row.gpus_idle) + of_all],
        className="fw-marked",
    )


def _elapsed(job: Job, elapsed: float | None) -> Any:
    return html.Div(
        [
            DASH if elapsed is None else duration(elapsed),
            html.Span(_limit(job), className="fw-under"),
        ]
    )


def _limit(job: Job) -> str:
    return "" if job.time_limit_seconds is None else f"of {duration(job.time_limit_seconds)}"


def _nodes(job: Job, base: str) -> Any:
    if len(job.nodes) == 1:
        return node_link(base, job.nodes[0])
    return html.Bdi(nodes_words(job), title=", ".join(job.nodes[:200]))


def _pending(row: JobRow) -> list[Any]:
    job = row.job
    waits = "not eligible yet" if row.wait_seconds is None else duration(row.wait_seconds)
    return [
        waits,
        DASH if job.time_limit_seconds is None else duration(job.time_limit_seconds),
        DASH if job.priority is None else number(job.priority),
        html.Span(reason_words(job.reason), title=job.reason or ""),
    ]


def _finished(row: FinishedRow, base: str) -> list[Any]:
    job = row.job
    source = "" if row.source is UseSource.NONE or row.utilization is None else row.source.value
    return [
        _mean_utilization(row, source),
        _elapsed(job, job.elapsed_seconds),
        DASH if row.wait_seconds is None else duration(row.wait_seconds),
        _nodes(job, base),
        DASH if job.end_time is None else moment(job.end_time),
    ]


def _mean_utilization(row: FinishedRow, source: str) -> Any:
    """As accounting or history keeps it: a dash here says nothing of what the metrics server measured."""
    if row.gpus and row.utilization is None:
        return html.Span(DASH, title="Neither Slurm's accounting nor the history has it: see the job's own page")
    if row.coverage is not None and row.coverage < _WHOLE:
        source = f"{source}, {percent(row.coverage)} measured"
    return ratio_cell(row.utilization, note=source) if row.gpus else html.Span(DASH, title="held no GPU")


def elapsed_of_limit(row: JobRow) -> str:
    """ "5 h 14 min of 1 d"."""
    return time_words(row.elapsed_seconds, row.job.time_limit_seconds)
