"""The head of the page of history: range, filters, the way here, exports. Each choice is a link or leads to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from typing import Any

import dash_bootstrap_components as dbc
from dash import html
from dash.development.base_component import Component

from components.elements import ANY, Choice, choice, icon, select_filter, short_model, text_filter, unbroken
from components.history_address import HistoryAddress, go
from components.history_table import NEXT, PLURALS
from components.history_words import length_words, range_words
from components.job_words import state_word
from data.queries.history import GROUP_LABELS, Group, ReportQuery

RANGES: tuple[Choice, ...] = (("24h", "24 h"), ("7d", "7 d"), ("30d", "30 d"), ("90d", "90 d"))
CUSTOM = "custom"
GROUPS = (
    Group.USER,
    Group.ACCOUNT,
    Group.DEPARTMENT,
    Group.PARTITION,
    Group.QOS,
    Group.MODEL,
    Group.NODE,
    Group.STATE,
    Group.SIZE,
)
PICKS = ("partition", "model")
STEPS = ("department", "account", "user", "node", "state", "size", "application", "finding", "qos", *PICKS)
_TITLES = {"partition": "Partition", "model": "Model", "qos": "QOS", "finding": "Finding"}


def page_head(
    address: HistoryAddress, query: ReportQuery, zone: tzinfo, options: Mapping[str, Sequence[str]]
) -> Component:
    """Title, the range in words, range and filters."""
    said = f"{range_words(query.since, query.until, zone)}, compared with the {length_words(query.length)} before"
    chosen = [_pick(name, address, options.get(name, ())) for name in PICKS]
    return html.Div(
        [
            html.H1("Efficiency"),
            html.Span(unbroken(said), className="fw-note"),
            html.Span("adding up …", id="eff-busy", className="fw-note fw-busy", role="status", hidden=True),
            html.Div([*_range(address, query, zone), *chosen, export_menu(address)], className="fw-filters"),
        ],
        className="fw-head",
    )


def breadcrumb(address: HistoryAddress) -> Component | None:
    """The filters in the order in which they were chosen; each leads back to where it was the last one."""
    taken = [name for name in address.words if name in STEPS]
    if not taken:
        return None
    start = address.changed(**dict.fromkeys(taken), by=None, limit=None, util=None, memory=None, q=None)
    parts: list[Any] = [go("All jobs", start.href())]
    for place, name in enumerate(taken):
        later = dict.fromkeys(taken[place + 1 :])
        text = _crumb(name, address.value(name))
        here = address.href(**later, by=_after(name, address), limit=None, q=None)
        drop = address.href(**{name: None})
        label = {"aria-label": f"Without {name} {address.value(name)}", "title": "Take this away"}
        is_last = place == len(taken) - 1
        step = html.Span(text, className="fw-crumb-here", **{"aria-current": "page"}) if is_last else go(text, here)
        parts += [
            html.Span(" / ", **{"aria-hidden": "true"}),
            step,
            go(icon("close"), drop, className="fw-crumb-drop", **label),
        ]
    return html.Nav(parts, className="fw-crumbs fw-history-crumbs", **{"aria-label": "Which jobs"})


def group_switch(address: HistoryAddress, *, has_departments: bool) -> Component:
    """By what the table is grouped."""
    here = address.value("by")
    shown = [one for one in GROUPS if one is not Group.DEPARTMENT or has_departments or here == one.value]
    items = [*shown, *([Group(here)] if here in {"job", "application"} else [])]
    return _segments([(one.value, _short(one)) for one in items], here, "by", address, "Group by", limit=None, q=None)


def name_filter(address: HistoryAddress) -> Component:
    """The text that the names of the rows hold; the script puts it into the address."""
    return text_filter("eff-q", address.value("q"), hint="name")


def view_switch(views: Sequence[Choice], address: HistoryAddress) -> Component:
    """Which columns the table has."""
    return _segments(views, address.value("view"), "view", address, "Columns")


def export_menu(address: HistoryAddress) -> Component:
    """The table as a file, the page as a report, the address to send."""
    links = [
        html.A("Table as CSV", href=address.export("csv"), download="", className="fw-menu-link"),
        html.A("Table as Parquet", href=address.export("parquet"), download="", className="fw-menu-link"),
        html.A("Report as HTML, to mail", href=address.export("html"), download="", className="fw-menu-link"),
        html.Button([html.Span("Copy the link")], type="button", className="fw-menu-link", **{"data-copy-link": "1"}),
    ]
    summary = html.Summary([icon("download"), html.B("Export")], className="fw-filter")
    box = html.Details([summary, html.Div(links, className="fw-menu fw-menu-links")], className="fw-menu-box")
    return html.Div(box, className="fw-filter-menu", id="eff-export")


def _segments(
    choices: Sequence[Choice], here: str, name: str, address: HistoryAddress, label: str, **more: None
) -> Component:
    links = [
        go(text, address.href(**{name: key}, **more), **({"aria-current": "true"} if key == here else {}))
        for key, text in choices
    ]
    return html.Div(links, className="fw-segments fw-links", role="group", **{"aria-label": label})


def _short(group: Group) -> str:
    return {Group.MODEL: "Model", Group.SIZE: "Job size"}.get(group, GROUP_LABELS[group])


def _after(name: str, address: HistoryAddress) -> str:
    known = {group.value: after.value for group, after in NEXT.items()}
    return known.get(name, address.value("by"))


def _crumb(name: str, text: str) -> Any:
    shown = short_model(text) if name == "model" else state_word(text) if name == "state" else text
    return [html.Span(f"{_TITLES.get(name) or GROUP_LABELS[Group(name)]} ", className="fw-unit"), html.Bdi(shown[:60])]


def _pick(name: str, address: HistoryAddress, known: Sequence[str]) -> Component:
    value = address.value(name)
    names = sorted({*known, *([value] if value else [])})
    choices = [(one, short_model(one) if name == "model" else one) for one in names]
    return select_filter(f"eff-{name}", _TITLES[name], choices, value or ANY, "all")


def _range(address: HistoryAddress, query: ReportQuery, zone: tzinfo) -> list[Component]:
    since = address.value("since")
    is_custom = since not in dict(RANGES) or bool(address.value("until"))
    value = CUSTOM if is_custom else since
    picked = choice("eff-since", "Period", (*RANGES, (CUSTOM, "from, to")), value)
    picked.className = "fw-filter"
    # the last day in the field is inside the range; the address names the first moment after it
    last = query.until.astimezone(zone) - timedelta(seconds=1)
    dates = html.Div(
        [
            html.Label("From", htmlFor="eff-from"),
            dbc.Input(id="eff-from", type="date", value=f"{query.since.astimezone(zone):%Y-%m-%d}", debounce=True),
            html.Label("to", htmlFor="eff-to"),
            dbc.Input(id="eff-to", type="date", value=f"{last:%Y-%m-%d}", debounce=True),
        ],
        className="fw-filter fw-dates",
        id="eff-dates",
        hidden=not is_custom,
    )
    return [picked, dates]


def title_of(by: Group) -> str:
    """The head of the table."""
    return PLURALS.get(by, "Rows")
