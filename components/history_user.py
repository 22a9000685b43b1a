"""A user's last 30 days from history: where the hours went, the trend, the place among peers, what to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import DASH, Column, data_table, ratio_cell
from components.elements import icon, panel, unbroken
from components.history_address import HistoryAddress, go
from components.history_figures import trend_figure
from components.history_panels import figure_panel
from components.history_table import stack_bar
from components.history_words import amount_change, hours_words, ratio_change, standing_words
from components.job_gpus import hours_bar
from components.job_words import job_href
from data.findings.advice import Advice
from data.queries.history import FindingRow, ReportQuery, ReportRow, UserHistory
from data.words import count, gpu_hours, number, percent

_MOST_FINDINGS, _MOST_JOBS = 5, 8
_JOB_COLUMNS = (
    Column("Job", place="main"),
    Column("GPU-hours", "", "", True, "", "value"),
    Column("Where they went", "share of allocated", place="hidden"),
    Column("UTIL", "%", "", True),
    Column("Wasted", "GPU-h", "", True),
)


@dataclass(frozen=True, slots=True)
class UserMonth:
    """`prefix` is the app's. `is_self` = the viewer's own page."""

    found: UserHistory
    query: ReportQuery
    advice: Mapping[str, Advice]
    zone: tzinfo
    prefix: str
    is_self: bool

    @property
    def address(self) -> HistoryAddress:
        """The same hours on the page of history."""
        return HistoryAddress(f"{self.prefix}efficiency").changed(user=self.found.user, by="job")


def history_month(month: UserMonth) -> list[Any]:
    """The panels, and the data of their figure; one panel that says so for a user who held no GPU."""
    if not month.found.total.hours.allocated:
        none = html.P("No job held a GPU in this time.", className="fw-quiet")
        return [panel("Last 30 days", [none, *_remarks(month)])]
    figure = trend_figure(month.found.trend, month.query.since, month.query.until, month.address, month.zone)
    plot = figure_panel("trend", "GPU-hours", figure, note=f"per {month.found.trend.step}")
    return [
        _hours(month),
        plot,
        _findings(month),
        _jobs(month),
        dcc.Store(id="history-figures", data={"trend": figure}),
        dcc.Store(id="history-drawn"),
    ]


def _hours(month: UserMonth) -> Component:
    total, whose = month.found.total, "Your" if month.is_self else "Their"
    place, line = standing_words(month.found.standing, whose)
    facts = [
        ("Jobs", number(total.value("jobs")), ""),
        ("GPU-hours", hours_words(total.value("gpu_hours_allocated")), amount_change(total, "gpu_hours_allocated")),
        ("UTIL", _percent(total.value("utilization")), ratio_change(total, "utilization")),
        ("Among peers", place, ""),
    ]
    items = [
        html.Div([html.Dt(name), html.Dd([value, html.Span(change, className="fw-under")] if change else value)])
        for name, value, change in facts
    ]
    inside: list[Any] = [html.Dl(items, className="fw-month-facts"), hours_bar(total.hours)]
    inside += [html.P(unbroken(line), className="fw-unit"), *_remarks(month)]
    link = go("All of it in Efficiency", month.address.href(), className="fw-button fw-small")
    return panel("Last 30 days", [html.Div(inside, className="fw-month")], note="running jobs too", right=[link])


def _remarks(month: UserMonth) -> list[Component]:
    return [html.P([icon("partial", "none"), note], className="fw-remark") for note in month.found.state.notes]


def _percent(ratio: float | None) -> str:
    return DASH if ratio is None else percent(ratio)


def _findings(month: UserMonth) -> Component | None:
    """Findings of finished jobs, most GPU-hours first, each with the jobs that show it."""
    found = [one for one in month.found.findings if one.gpu_hours > 0]
    if not found:
        return None
    boxes = [_finding(one, month) for one in found[:_MOST_FINDINGS]]
    if len(found) > _MOST_FINDINGS:
        rest = [_finding(one, month) for one in found[_MOST_FINDINGS:]]
        boxes.append(html.Details([html.Summary(f"Show all {len(found)}"), *rest]))
    return panel("What finished jobs show", boxes, note="last 30 days, most wasted first")


def _finding(one: FindingRow, month: UserMonth) -> Component:
    known = month.advice.get(one.id)
    name = (known.name if known else one.id.replace("_", " ")).capitalize()
    wasted = "" if one.gpu_hours_wasted is None else f"; {gpu_hours(one.gpu_hours_wasted)} of theirs wasted"
    cost = f" {gpu_hours(one.gpu_hours)}"
    said = [
        html.H3(
            [
                go(name, month.address.href(finding=one.id)),
                html.Span(cost, className="fw-unit"),
            ]
        ),
        html.P([f"{count(one.jobs, 'job')}{wasted}. Such as ", *_examples(one.examples, month.prefix), "."]),
    ]
    if known:
        said.append(html.P(known.advice, className="fw-advice"))
    return html.Div([icon("waste", "waste"), html.Div(said)], className="fw-finding")


def _examples(rows: Sequence[ReportRow], prefix: str) -> list[Any]:
    links: list[Any] = []
    for row in rows[:3]:
        name = row.about.get("name")
        links += [", "] if links else []
        links.append(dcc.Link(row.label, href=job_href(prefix, row.label), title=str(name) if name else None))
    return links or ["none that is still known"]


def _jobs(month: UserMonth) -> Component | None:
    """The jobs that wasted most."""
    rows = month.found.jobs[:_MOST_JOBS]
    if not rows:
        return None
    cells = [
        [
            _job(row, month.prefix),
            hours_words(row.value("gpu_hours_allocated")),
            stack_bar(row),
            ratio_cell(row.value("utilization")),
            DASH if row.value("gpu_hours_wasted") is None else hours_words(row.value("gpu_hours_wasted")),
        ]
        for row in rows
    ]
    return panel("Jobs that wasted most", [data_table(_JOB_COLUMNS, cells, caption="Jobs that wasted most")])


def _job(row: ReportRow, prefix: str) -> Component:
    name = str(row.about.get("name") or "")
    link = dcc.Link(row.label, href=job_href(prefix, row.label), className="fw-id")
    return html.Div([link, html.Bdi(name, className="fw-under", title=name)] if name else link)
