"""The page of history put together: key figures, where the hours went, the map, the ranking, the week."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import data_table
from components.elements import icon
from components.history_address import HistoryAddress, go
from components.history_compare import compare_panel
from components.history_figures import Figure, bins_figure, trend_figure, week_figure
from components.history_head import breadcrumb, group_switch, name_filter, page_head, title_of, view_switch
from components.history_heat import heat_figure, selection_words
from components.history_kpis import key_figures
from components.history_panels import (
    doubling_legend,
    figure_panel,
    hours_legend,
    nothing_to_draw,
    selection_foot,
    week_switch,
)
from components.history_states import (
    banners,
    being_made,
    failed,
    is_comparable,
    is_not_kept,
    no_history,
    nothing_matches,
    waiting_words,
)
from components.history_table import VIEWS, Ranking, low_coverage_remark, ranking_table, shown_rows
from components.shell import frame_data
from components.sources_banner import ignored_banner
from data.errors import FullwarpError
from data.findings.advice import Advice
from data.model import ClusterSnapshot
from data.queries.history import (
    CommonFinding,
    Group,
    GroupKey,
    HeatMap,
    HoursByUtilization,
    Report,
    ReportQuery,
    Trend,
    WeekHours,
)
from data.words import count, gpu_hours, number

MORE_ROWS = (100, 1000)


@dataclass(frozen=True, slots=True)
class HistoryParts:
    """The answers of one page. None = not asked yet; `total` is of all jobs of the range and filters, `report` of those
    that are also selected on the map, `cluster` of everybody, without names. `missing` of `of` are still to come."""

    total: Report | None = None
    report: Report | None = None
    cluster: Report | None = None
    trend: Trend | None = None
    heat: HeatMap | None = None
    bins: HoursByUtilization | None = None
    week: WeekHours | None = None
    findings: Mapping[GroupKey, CommonFinding] | None = None
    missing: tuple[str, ...] = ()
    of: int = 0

    @property
    def ready(self) -> int:
        return self.of - len(self.missing)


@dataclass(frozen=True, slots=True)
class HistoryView:
    """One question of one viewer and its answers. `query` is that of the table, with the selection on the map in it.

    `is_growing` = the history is being made and does not reach the begin yet: the page asks again by itself."""

    address: HistoryAddress
    query: ReportQuery
    parts: HistoryParts
    now: datetime
    zone: tzinfo
    prefix: str
    user: str
    is_staff: bool
    snapshot: ClusterSnapshot | None = None
    options: Mapping[str, Sequence[str]] | None = None
    error: FullwarpError | None = None
    ignored: Sequence[str] = ()
    has_departments: bool = False
    advice: Mapping[str, Advice] = field(default_factory=dict)
    is_growing: bool = False

    @property
    def by(self) -> Group:
        return self.query.by


def history_page(view: HistoryView, *, refresh_seconds: float) -> Component:
    """The whole page; `eff-body` is what a further answer replaces."""
    return html.Div(
        [
            page_head(view.address, view.query, view.zone, view.options or {}),
            html.Div(history_body(view), id="eff-body"),
            dcc.Store(id="eff-words", data={"query": view.address.query(), "now": view.now.isoformat()}),
            dcc.Store(id="frame", data=frame_data(view.snapshot) if view.snapshot else None),
            dcc.Store(id="history-drawn"),
            dcc.Store(id="eff-step"),
            dcc.Store(id="eff-answer"),
            dcc.Store(id="eff-passed"),
            dcc.Interval(id="eff-tick", interval=round(refresh_seconds * 1000)),
        ],
        className="fw-ticking fw-history",
        id="eff-page",
        **{"data-tick": "eff-tick"},
    )


def history_body(view: HistoryView) -> list[Any]:
    """All below the head, as far as its answers are here, and the data of its figures."""
    state = _whole_page_state(view)
    figures: dict[str, Figure] = {}
    parts: list[Any] = [ignored_banner(view.ignored), breadcrumb(view.address)]
    parts += [html.Section(state, className="fw-panel")] if state is not None else _panels(view, figures)
    left = {"left": len(view.parts.missing) if state is None else 0, "ready": view.parts.ready}
    stores = [
        dcc.Store(id="history-figures", data=figures),
        dcc.Store(id="eff-missing", data=left),
        dcc.Store(id="eff-growing", data=view.is_growing),
    ]
    return [part for part in (*parts, *stores) if part is not None]


def _whole_page_state(view: HistoryView) -> Component | None:
    """What stands in place of all panels, where there is nothing to show."""
    if view.error is not None:
        if is_not_kept(view.error):
            return no_history(is_staff=view.is_staff, is_kept=False)
        return failed(view.error, is_staff=view.is_staff)
    total = view.parts.total
    if total is not None and total.state.is_empty and view.is_growing:
        return being_made(total.state)
    if total is not None and total.state.is_empty:
        return no_history(is_staff=view.is_staff, is_kept=True)
    if total is not None and not total.total.value("jobs"):
        return nothing_matches(view.address, is_staff=view.is_staff, user=view.user)
    return None


def _panels(view: HistoryView, figures: dict[str, Figure]) -> list[Any]:
    parts = view.parts
    above: list[Any] = []
    if parts.total is not None:
        above += banners(parts.total.state, view.query, view.now, is_staff=view.is_staff)
    if parts.missing:
        above.append(html.P(_waiting(view), className="fw-remark", role="status"))
    return [
        *above,
        _key_figures(view),
        html.Div([_trend(view, figures), _heat(view, figures)], className="fw-history-top"),
        _compare(view),
        _ranking(view),
        html.Div([_bins(view, figures), _week(view, figures)], className="fw-history-pair"),
    ]


def _waiting(view: HistoryView) -> list[Any]:
    return [icon("wait", "info"), waiting_words(view.query, view.parts.ready, view.parts.of)]


def _key_figures(view: HistoryView) -> Component:
    total = view.parts.total
    if total is None:
        bones = [html.Span(className="fw-bone fw-late", style={"height": "3.5rem"}) for _ in range(7)]
        return html.Div(bones, className="fw-panel fw-history-bones")
    no_change = "" if is_comparable(total) else "no history before"
    return key_figures(total.total, total.currency, no_change=no_change)


def _trend(view: HistoryView, figures: dict[str, Figure]) -> Component:
    trend, figure = view.parts.trend, None
    if trend is not None:
        figure = figures["trend"] = trend_figure(trend, view.query.since, view.query.until, view.address, view.zone)
    note = "" if trend is None else f"per {trend.step}"
    return figure_panel("trend", "Where GPU-hours went", figure, note=note, right=[hours_legend()])


def _heat(view: HistoryView, figures: dict[str, Figure]) -> Component:
    heat, chosen = view.parts.heat, view.query.filter
    title = "Utilization and memory"
    if heat is None:
        return figure_panel("heat", title, None, foot=html.Div(className="fw-selected"))
    figure = figures["heat"] = heat_figure(heat, chosen, view.address)
    selected = view.parts.report.total if view.parts.report else None
    words = selection_words(chosen, selected, heat.gpu_hours)
    foot = selection_foot(
        words,
        view.address.href(by=Group.JOB.value, limit=None),
        view.address.href(util=None, memory=None),
        show_jobs=view.by is not Group.JOB,
    )
    empty = (
        None
        if any(cell.gpu_hours for cell in heat.cells)
        else nothing_to_draw("No job has both its utilization and its memory measured.")
    )
    legend = [] if empty else [doubling_legend("mag", figure["low"], figure["top"])]
    return figure_panel("heat", title, figure, right=legend, foot=foot, empty=empty)


def _bins(view: HistoryView, figures: dict[str, Figure]) -> Component:
    bins, figure = view.parts.bins, None
    if bins is not None:
        figure = figures["bins"] = bins_figure(bins, view.address)
    return figure_panel("bins", "GPU-hours by utilization", figure, note="mean UTIL of the job")


def _week(view: HistoryView, figures: dict[str, Figure]) -> Component:
    week, figure = view.parts.week, None
    if week is not None:
        figure = figures["week"] = week_figure(week)
    right = [] if figure is None else [week_switch()]
    return figure_panel("week", "The week", figure, note=str(getattr(view.zone, "key", "")), right=right)


def _compare(view: HistoryView) -> Component | None:
    total, cluster = view.parts.total, view.parts.cluster
    return None if total is None or cluster is None else compare_panel(total.total, cluster.total)


def _ranking(view: HistoryView) -> Component:
    report, by = view.parts.report, view.by
    title = html.H2(title_of(by))
    if report is None:
        waiting = html.Div(
            html.Span(className="fw-bone fw-late"), className="fw-hist-plot fw-hist-plot-table fw-waiting"
        )
        return html.Section([html.Div(title, className="fw-panel-head"), waiting], className="fw-panel fw-ranking")
    head = html.Div(
        [
            title,
            html.Span(_ranking_note(view, report), className="fw-note"),
            html.Div([view_switch(VIEWS, view.address)], className="fw-panel-right"),
        ],
        className="fw-panel-head",
    )
    switch = html.Div(
        [
            group_switch(view.address, has_departments=view.has_departments),
            *([name_filter(view.address)] if by is not Group.JOB else []),
        ],
        className="fw-group-switch",
    )
    inside: list[Any] = [head, switch, *_table(view, report), low_coverage_remark(report.rows), _more(view, report)]
    return html.Section(inside, className="fw-panel fw-ranking", id="eff-table")


def _table(view: HistoryView, report: Report) -> list[Component]:
    if not report.rows:
        return [data_table([], [], caption="No rows"), nothing_to_draw(_nothing(view.address.value("q")))]
    return [
        ranking_table(
            Ranking(
                report,
                view.address,
                view.prefix,
                is_comparable(report),
                findings=view.parts.findings,
                advice=view.advice,
            )
        )
    ]


def _nothing(text: str) -> str:
    return f"No name holds “{text}”." if text else "No job of this range fits what is selected."


def _ranking_note(view: HistoryView, report: Report) -> str:
    chosen = view.query.filter
    inside = "of the jobs selected on the map" if chosen.utilization or chosen.gpu_memory_gib else ""
    hours = gpu_hours(report.total.value("gpu_hours_allocated"))
    return ", ".join(part for part in (inside, hours, count(int(report.total.value("jobs") or 0), "job")) if part)


def _more(view: HistoryView, report: Report) -> Component | None:
    """How many of the rows are shown, and the way to more of them."""
    shown, total = len(shown_rows(report)), report.groups
    if total <= shown:
        return None
    steps = [limit for limit in MORE_ROWS if limit > shown][:1]
    links = [
        go(f"Show {number(min(limit, total))}", view.address.href(limit=str(limit)), className="fw-button")
        for limit in steps
    ]
    said = f"{number(shown)} of {number(total)} shown"
    whole = html.A("all as CSV", href=view.address.export("csv", limit=None), download="")
    return html.Div([html.Span([said, "; ", whole]), *links], className="fw-pager")
