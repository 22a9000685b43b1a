"""My jobs now: what runs and waits, the worst job's fix first, then the hours of the month and what is free."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from components.data_table import Column, data_table
from components.elements import banner, icon, panel, until
from components.job_rows import COLUMNS, table_rows
from components.job_words import DASH
from components.policy_words import following_step, status_cell, why_words
from data.metrics.registry import METRICS
from data.model import SourceCondition
from data.pending_reasons import reason_words
from data.queries.job_list import Show
from data.queries.jobs import JobRow
from data.words import count, duration, number
from ondemand.answers import Now, OneJob
from ondemand.views.parts import job_address, notes
from policy.model import JobVerdict, Status

MOST_ROWS = 50
_COLUMNS = (
    Column("Job", place="main"),
    Column("GPUs", "", "", True),
    Column("Time", "of limit", "", True),
    Column("GPU UTIL", "now, %", "", True, METRICS["gpu_utilization"].help, "value"),
    Column("Verdict"),
    Column("Why, and what to do"),
)
_LABELS = {show: [column.label for column in COLUMNS[show]] for show in (Show.RUNNING, Show.PENDING)}


def worst(now: Now) -> JobVerdict | None:
    """The first low verdict: they come worst first."""
    return next((one for one in now.verdicts.verdicts if one.status is Status.LOW), None)


def my_jobs(now: Now, fix: OneJob | None, base: str, *, is_direct: bool) -> list[Component | None]:
    """The head of the page; `fix` is the worst job where there is one."""
    from ondemand.views.one_job import charts_and_findings

    low = worst(now)
    return [
        html.H1("My jobs", className="fw-sr"),
        *notes(now.fault, is_direct=is_direct, missing=[*now.jobs.unknown, *_faults(now)]),
        _low_banner(low, now, base) if low is not None else None,
        _table(now, base),
        charts_and_findings(fix, most=1, title=f"{low.job.display_id}, per GPU") if low and fix else None,
    ]


def _faults(now: Now) -> list[str]:
    """Verdicts without measurements say so once, not in each row."""
    return [f"Verdicts: {now.verdicts.fault}."] if now.verdicts.fault else []


def _low_banner(one: JobVerdict, now: Now, base: str) -> Component:
    verdict = one.verdict
    title = f"Job {one.job.display_id}: {verdict.sentence.rstrip('.')}."
    step = following_step(verdict)
    lines: list[Any] = []
    if step and verdict.next_at is not None and verdict.is_acted_on:
        is_due = verdict.next_at <= now.verdicts.time
        when = ["with the next run"] if is_due else ["in ", until(verdict.next_at, now.verdicts.time)]
        lines.append(html.Span([f"{step} ", *when, " if it stays so."]))
    others = sum(other.status is Status.LOW for other in now.verdicts.verdicts) - 1
    if others:
        lines.append(f"{count(others, 'more job')} with low use below.")
    link = html.A("Show the fix", href=job_address(base, one.job.display_id), className="fw-button")
    return banner("waste", "waste", title, lines, link)


def _table(now: Now, base: str) -> Component:
    rows = sorted(now.jobs.rows, key=lambda row: (row.job.state == "PENDING", not _is_low(now, row)))
    down = any(one.name == "slurm" and one.condition is SourceCondition.DOWN for one in now.jobs.sources)
    if not rows:
        text = "Slurm does not answer: jobs are not known." if down else "No job of yours runs or waits."
        return panel("Now", [html.P(text, className="fw-quiet")])
    waiting = sum(row.job.array_task_count or 1 for row in rows if row.job.state == "PENDING")
    running = sum(row.job.state != "PENDING" for row in rows)
    cells = [_row(row, now, base) for row in rows[:MOST_ROWS]]
    rest = f", the first {MOST_ROWS} shown" if now.jobs.total > MOST_ROWS else ""
    note = f"{number(running)} running, {number(waiting)} waiting{rest}"
    return panel("Now", [data_table(_COLUMNS, cells, caption="My jobs, running and waiting")], note=note)


def _is_low(now: Now, row: JobRow) -> bool:
    one = now.verdict_of(row.job.display_id)
    return one is not None and one.status is Status.LOW


def _row(row: JobRow, now: Now, base: str) -> list[Any]:
    """The cells that the list of jobs has, and the verdict beside them."""
    show = Show.PENDING if row.job.state == "PENDING" else Show.RUNNING
    cell = dict(zip(_LABELS[show], table_rows([row], show, base)[0], strict=True))
    if show is Show.PENDING:
        waits = "" if row.wait_seconds is None else duration(row.wait_seconds)
        mark = html.Span([icon("wait"), "Waiting"], className="fw-marked")
        why = html.Span(reason_words(row.job.reason), className="fw-why", title=row.job.reason or "")
        return [cell["Job"], cell["GPUs"], html.Div(["waits ", waits]) if waits else DASH, DASH, mark, why]
    return [cell["Job"], cell["GPUs"], cell["Elapsed"], cell["UTIL"], *_verdict(row, now, base)]


def _verdict(row: JobRow, now: Now, base: str) -> list[Any]:
    one = now.verdict_of(row.job.display_id)
    if one is None:
        return [DASH, html.Span("holds no GPU" if row.gpus == 0 else "no rule covers it", className="fw-why")]
    why = html.Span(DASH if one.status is Status.OK else why_words(one.verdict), className="fw-why")
    if one.status is not Status.LOW:
        return [status_cell(one.status), why]
    fix = html.A("What to change", href=job_address(base, row.job.display_id))
    return [status_cell(one.status), html.Div([why, html.Div(fix, className="fw-under")])]
