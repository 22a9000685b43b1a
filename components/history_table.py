"""The ranking of a range: one row per user, account, model ...; the most idle GPU-hours first, each the way down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import DASH, Column, data_table, ratio_cell
from components.elements import icon, short_model
from components.history_address import HistoryAddress, go
from components.history_figures import PARTS, parts_of
from components.history_words import hours_words, money, share_change, signed_points
from components.job_words import chip, job_href, state_cell, state_word
from data.efficiency.coverage import PARTLY_MEASURED
from data.findings.advice import Advice
from data.queries.history import COLUMNS, GROUP_LABELS, CommonFinding, Group, GroupKey, Report, ReportRow
from data.words import count, duration, gpu_hours, number, percent

VIEWS = (("hours", "Hours"), ("quality", "How well"), ("waits", "Waits and cost"))
# where a row leads: how what is in it is grouped next
NEXT = {
    Group.DEPARTMENT: Group.ACCOUNT,
    Group.ACCOUNT: Group.USER,
    Group.USER: Group.JOB,
    Group.PARTITION: Group.USER,
    Group.QOS: Group.USER,
    Group.MODEL: Group.USER,
    Group.NODE: Group.USER,
    Group.STATE: Group.USER,
    Group.SIZE: Group.USER,
    Group.APPLICATION: Group.JOB,
}
PLURALS = {
    Group.USER: "Users",
    Group.ACCOUNT: "Accounts",
    Group.DEPARTMENT: "Departments",
    Group.PARTITION: "Partitions",
    Group.QOS: "QOS",
    Group.MODEL: "GPU models",
    Group.NODE: "Nodes",
    Group.STATE: "States",
    Group.SIZE: "GPUs per job",
    Group.JOB: "Jobs",
    Group.APPLICATION: "Applications",
}
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "hours": (
        "jobs",
        "gpu_hours_allocated",
        "stack",
        "utilization",
        "gpu_hours_wasted",
        "gpu_hours_idle",
        "change",
        "finding",
    ),
    "quality": (
        "gpu_hours_allocated",
        "utilization",
        "sm_activity",
        "tensor_activity",
        "cpu_efficiency",
        "memory_efficiency",
        "failed_share",
        "coverage",
    ),
    "waits": (
        "jobs",
        "gpu_hours_allocated",
        "device_hours",
        "wait_p50_seconds",
        "wait_p90_seconds",
        "cost",
        "energy_kwh",
    ),
}
# what key figures, bars and marks stand on, besides the columns themselves
_ALWAYS = (
    *("jobs", "gpu_hours_allocated", "gpu_hours_measured", "gpu_hours_used", "gpu_hours_idle"),
    *("gpu_hours_idle_measured", "gpu_hours_not_measured", "gpu_hours_wasted", "utilization", "coverage"),
)
TOTAL_COLUMNS = (*_ALWAYS, "cost", "energy_kwh")
_UNITS = {"ratio": "%", "GPU-hours": "GPU-h", "seconds": "", "kWh": "kWh", "": ""}
_OWN = {
    "stack": Column("Where they went", "share of allocated", help="Used, partly used, idle, not measured."),
    "change": Column(
        "Idle, change",
        "points",
        is_number=True,
        help="Change of the idle share against the time before.",
        place="hidden",
    ),
    "finding": Column(
        "Most frequent finding",
        help="What most finished jobs show about their GPUs. A click leads to them.",
        place="hidden",
    ),
}


def columns_of(view: str, sort: str) -> tuple[str, ...]:
    """The columns that a view of the table and the key figures need, and the one that sorts it."""
    shown = [name for name in _NUMBERS[view] if name in COLUMNS]
    bases = [COLUMNS[name].coverage for name in shown if COLUMNS[name].coverage]
    by = [sort.removeprefix("-")] if sort.removeprefix("-") in COLUMNS else []
    return tuple(dict.fromkeys((*TOTAL_COLUMNS, *shown, *bases, *by)))


@dataclass(frozen=True, slots=True)
class Ranking:
    """A report as a table. `address` is where it stands, `prefix` the app's; `has_changes`: the time before counts.

    `findings` are the most frequent ones by group (None = not there yet), `advice` the words for them."""

    report: Report
    address: HistoryAddress
    prefix: str
    has_changes: bool = True
    findings: Mapping[GroupKey, CommonFinding] | None = None
    advice: Mapping[str, Advice] = field(default_factory=dict)

    @property
    def by(self) -> Group:
        return self.report.query.by

    @property
    def names(self) -> tuple[str, ...]:
        """The columns after the name; a job has no most frequent finding."""
        return tuple(
            one for one in _NUMBERS[self.address.value("view")] if one != "finding" or self.by is not Group.JOB
        )


def ranking_table(ranking: Ranking) -> Component:
    """The table; a click on a head sorts, a click on a name goes one step down."""
    names = ranking.names
    columns = [Column(GROUP_LABELS[ranking.by], sort="name", place="main"), *_about_columns(ranking.by)]
    columns += [_column(name, ranking.report.currency) for name in names]
    rows = [
        [_name(row, ranking), *_about_cells(row, ranking), *(_cell(name, row, ranking) for name in names)]
        for row in shown_rows(ranking.report)
    ]
    return data_table(
        columns,
        rows,
        caption=f"{PLURALS.get(ranking.by, 'Rows')} by GPU-hours",
        order=ranking.address.value("sort"),
        link=lambda sort: ranking.address.href(sort=sort),
    )


def shown_rows(report: Report) -> Sequence[ReportRow]:
    """The rows as sorted; accounts as a tree, each below its parent."""
    if report.query.by is not Group.ACCOUNT or not any(row.parent for row in report.rows):
        return report.rows
    places = {(row.key, row.level or 1) for row in report.rows}
    below: dict[tuple[str | None, int] | None, list[ReportRow]] = {}
    for row in report.rows:
        above = (row.parent, (row.level or 1) - 1)
        below.setdefault(above if above in places else None, []).append(row)

    def walk(place: tuple[str | None, int] | None) -> list[ReportRow]:
        return [one for row in below.pop(place, ()) for one in (row, *walk((row.key, row.level or 1)))]

    return walk(None)


def _column(name: str, currency: str) -> Column:
    if name in _OWN:
        return _OWN[name]
    column = COLUMNS[name]
    unit = currency if column.unit == "currency" else _UNITS.get(column.unit, column.unit)
    place = "value" if name == "gpu_hours_allocated" else "minor"
    label = "Allocated" if name == "gpu_hours_allocated" else column.label
    return Column(label, unit, name, True, column.help, place)


def _about_columns(by: Group) -> list[Column]:
    return [Column("User"), Column("State", place="hidden")] if by is Group.JOB else []


def _about_cells(row: ReportRow, ranking: Ranking) -> list[Any]:
    if ranking.by is not Group.JOB:
        return []
    user, state = row.about.get("user"), row.about.get("state")
    name = go(html.Bdi(str(user)), ranking.address.href(user=str(user))) if user else DASH
    return [name, state_cell(str(state)) if state else DASH]


def _name(row: ReportRow, ranking: Ranking) -> Component:
    """The name as a link one step down; of an account, set in by its level."""
    text = label_of(row, ranking.by)
    if ranking.by is Group.JOB and row.key is not None:
        under = str(row.about.get("name") or "")
        link = dcc.Link(text, href=job_href(ranking.prefix, row.label), className="fw-id")
        return html.Div([link, html.Bdi(under, className="fw-under", title=under)] if under else link)
    level = row.level or 1
    style = {"paddingLeft": f"{min(level - 1, 8)}rem"} if level > 1 else {}
    inside = html.Bdi(text)
    if row.key is None or ranking.by not in NEXT:
        return html.Div(html.Span(inside, className="fw-id fw-none"), style=style)
    return html.Div(go(inside, drill_href(ranking.address, ranking.by, row.key), className="fw-id"), style=style)


def label_of(row: ReportRow, by: Group) -> str:
    """The name of a row for people."""
    if by is Group.MODEL and row.key is not None:
        return short_model(row.label)
    return state_word(row.label) if by is Group.STATE and row.key is not None else row.label


def drill_href(address: HistoryAddress, by: Group, key: str) -> str:
    """One step down: only what is in this row, grouped by what comes next."""
    change: dict[str, Any] = {by.value: key, "by": NEXT[by].value, "limit": None, "q": None}
    if address.value("sort").endswith("name"):
        change["sort"] = None
    return address.href(**change)


def _cell(name: str, row: ReportRow, ranking: Ranking) -> Any:
    if name == "stack":
        return stack_bar(row)
    if name == "change":
        return signed_points(share_change(row, "gpu_hours_idle") if ranking.has_changes else None)
    if name == "finding":
        return _finding(row, ranking)
    value, unit = row.value(name), COLUMNS[name].unit
    if unit == "ratio":
        return ratio_cell(value, note=_coverage_note(name, row)) if name != "coverage" else ratio_cell(value)
    return _dash() if value is None else _TEXTS[unit](value)


def _finding(row: ReportRow, ranking: Ranking) -> Any:
    """The finding as a chip that leads to the jobs that have it."""
    if ranking.findings is None:
        return ""
    found = ranking.findings.get((row.key, row.parent, row.level))
    if found is None:
        return DASH
    known = ranking.advice.get(found.id)
    name = known.name if known else found.id.replace("_", " ")
    said = f"{count(found.jobs, 'job')}, {gpu_hours(found.gpu_hours)}"
    label = {"title": f"{said}. {known.when}" if known else said}
    if row.key is None:
        return html.Span(chip(name), **label)
    href = ranking.address.href(
        **{ranking.by.value: row.key}, finding=found.id, by=Group.JOB.value, limit=None, q=None, sort=None
    )
    return go(chip(name), href, **label)


_TEXTS: Mapping[str, Callable[[float], str]] = {
    "GPU-hours": hours_words,
    "seconds": duration,
    "kWh": number,
    "currency": lambda value: money(value, "").strip(),
    "": number,
}


def _dash() -> Component:
    return html.Span(DASH, title="not measured", className="fw-not-measured")


def _coverage_note(name: str, row: ReportRow) -> str:
    share = row.value(COLUMNS[name].coverage) if COLUMNS[name].coverage else None
    return f"of {percent(share)}" if share is not None and 0 < share < PARTLY_MEASURED else ""


def stack_bar(row: ReportRow) -> Component:
    """Where the GPU-hours of a row went, as one bar of its own full length."""
    parts = [(kind, part) for kind, part in zip(PARTS, parts_of(row.hours), strict=True) if part and part > 0]
    total = sum(part for _, part in parts)
    if not total:
        return html.Div(className="fw-hours fw-row-hours")
    words = ", ".join(f"{_WORDS[kind]} {percent(part / total)}" for kind, part in parts)
    bars = [
        html.Span(style={"width": f"{100 * part / total:.2f}%"}, className=f"fw-hours-{kind}") for kind, part in parts
    ]
    return html.Div(bars, className="fw-hours fw-row-hours", role="img", title=words, **{"aria-label": words})


_WORDS = {"used": "used", "wasted": "partly used", "idle": "idle", "none": "not measured"}


def low_coverage_remark(rows: Sequence[ReportRow]) -> Component | None:
    """Said once where numbers of the table stand on a part of the hours."""
    low = [row for row in rows if (share := row.value("coverage")) is not None and share < PARTLY_MEASURED]
    if not low:
        return None
    text = f"In {len(low)} of {len(rows)} rows less than {percent(PARTLY_MEASURED)} of the GPU-hours were measured."
    return html.P([icon("partial", "none"), text], className="fw-remark fw-pad")
