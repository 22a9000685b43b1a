"""The page of detailed metrics put together: controls, scatter, findings, table; one answer in, components out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import dash_bootstrap_components as dbc
from dash import dcc, html
from dash.development.base_component import Component

from components.elements import ANY, Choice, icon, moment, panel_state, select_filter, switch
from components.findings import code_block
from components.metrics_findings import findings_list
from components.metrics_payload import PayloadContext, metrics_payload
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.errors import CannotKnow, FullwarpError
from data.model import ClusterSnapshot
from data.queries.metrics import COLUMNS, Group, MetricsTable
from data.queries.metrics.model import Origin
from data.words import duration
from settings import FindingLimits

GROUPS: tuple[Choice, ...] = (
    (Group.JOB.value, "Job"),
    (Group.USER.value, "User"),
    (Group.ACCOUNT.value, "Account"),
    (Group.MODEL.value, "Model"),
    (Group.PARTITION.value, "Partition"),
    (Group.APPLICATION.value, "Application"),
)
PERIODS: tuple[Choice, ...] = (
    ("10m", "10 min"),
    ("1h", "1 h"),
    ("6h", "6 h"),
    ("24h", "24 h"),
    ("7d", "7 d"),
    ("30d", "30 d"),
    ("90d", "90 d"),
)
FILTERS = ("user", "account", "partition", "model")
_TITLES = {"user": "User", "account": "Account", "partition": "Partition", "model": "Model"}
_BUTTON = "fw-button fw-small-button"


@dataclass(frozen=True, slots=True)
class MetricsAnswer:
    """What one viewer sees of one question. `table` None = there is no answer, and `error` says why.

    `chosen` holds what the address asks for by its name there, `period` the words of the range; `query` the question
    as a query string for the exports.
    """

    chosen: Mapping[str, str]
    period: str
    snapshot: ClusterSnapshot | None
    is_staff: bool
    base: str
    query: str
    limits: FindingLimits
    table: MetricsTable | None = None
    error: FullwarpError | None = None
    ignored: Sequence[str] = ()

    @property
    def version(self) -> str:
        """Changes whenever anything on the page does."""
        table = self.table
        made = f"{table.since}|{table.until}|{len(table.rows)}|{len(table.unknown)}" if table else str(self.error)
        sources = self.snapshot.sources if self.snapshot else ()
        return "|".join((made, *(one.condition.value for one in sources), *self.chosen.values(), self.query))


class MetricsParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    note: Any
    banner: Any
    instead: Any
    findings: Any
    missing: Any
    remark: Any
    data: Any
    options: Any
    csv: str
    parquet: str
    frame: Any
    version: str


def metrics_parts(answer: MetricsAnswer) -> MetricsParts:
    """Every part of the page that depends on the data."""
    table = answer.table
    exports = (f"{answer.base}metrics.csv?{answer.query}", f"{answer.base}metrics.parquet?{answer.query}")
    return MetricsParts(
        _note(answer),
        _banner(answer),
        _instead(answer),
        findings_list(table.findings, table.advice, answer.chosen.get("finding", "")) if table else None,
        _missing(table, answer.is_staff) if table else None,
        _remark(table) if table else None,
        _data(answer),
        options_of(answer),
        *exports,
        frame_data(answer.snapshot) if answer.snapshot else None,
        answer.version,
    )


def _data(answer: MetricsAnswer) -> dict[str, Any] | None:
    if answer.table is None or not answer.table.rows:
        return None
    return metrics_payload(answer.table, PayloadContext(answer.base, answer.chosen, answer.limits))


def options_of(answer: MetricsAnswer) -> list[list[dict[str, str]]]:
    """The choices of each filter; a chosen value that nothing has now stays to choose."""
    known = answer.table.options if answer.table else {}
    found = []
    for key in FILTERS:
        chosen = answer.chosen.get(key, "")
        names = sorted({*known.get(key, ()), *([chosen] if chosen else [])})
        found.append([{"label": "all", "value": ANY}, *({"label": name, "value": name} for name in names)])
    return found


def _note(answer: MetricsAnswer) -> list[Any]:
    table = answer.table
    if table is None:
        return ["how the GPUs were used, not only whether"]
    source = "kept history" if table.origin is Origin.HISTORY else "the metrics server"
    span = html.Span([moment(table.since), " to ", moment(table.until)], className="fw-nowrap")
    return [f"{answer.period}, ", span, html.Span(f", from {source}", className="fw-wide-only")]


def _banner(answer: MetricsAnswer) -> list[Component]:
    shown = answer.snapshot
    main = None
    if shown is not None:
        main = past_banner(shown, f"{answer.base}metrics") or sources_banner(shown, is_staff=answer.is_staff)
    return [part for part in (ignored_banner(answer.ignored), main) if part is not None]


def _instead(answer: MetricsAnswer) -> Component | None:
    """What stands in the place of the table while there is none."""
    table, error = answer.table, answer.error
    retry = html.Button("Try again", type="button", className="fw-button", **{"data-try-now": "1"})
    day = html.Button("Show 24 h", type="button", className="fw-button", **{"data-metrics-period": "24h"})
    if isinstance(error, CannotKnow):
        lines = ["Up to 24 h of the last week come from the metrics server; more needs history.", _plain(error)]
        return panel_state("empty", "none", "No history for this range", lines, [day])
    if error is not None:
        said = [str(error), error.hint] if answer.is_staff else ["The source of these numbers does not answer."]
        return panel_state("bad", "bad", "The metrics cannot be shown now", [line for line in said if line], [retry])
    if table is not None and not table.rows:
        return _empty(answer)
    return None


def _plain_text(said: Sequence[str]) -> str:
    return " ".join(said).replace("`", "")


def _plain(error: FullwarpError) -> str:
    """What is wrong and what to do, without the marks of a terminal's text."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}. {error.hint}".replace("`", "")


def _empty(answer: MetricsAnswer) -> Component:
    names = (*FILTERS, "application", "q", "finding")
    chosen = {key: answer.chosen[key] for key in names if answer.chosen.get(key)}
    if chosen:
        clear = html.Button("Clear all filters", type="button", className="fw-button", **{"data-metrics-clear": "1"})
        said = ", ".join(f"{key} “{value[:40]}”" for key, value in chosen.items())
        return panel_state("empty", "none", "Nothing matches", [f"No GPU job in this range has {said}."], [clear])
    if answer.table is not None and answer.table.origin is Origin.HISTORY and answer.table.unknown:
        return panel_state("empty", "none", "No history of this range", [_plain_text(answer.table.unknown)])
    whom = "on this cluster" if answer.is_staff else "among those that you may see"
    longer = html.Button("Show 24 h", type="button", className="fw-button", **{"data-metrics-period": "24h"})
    return panel_state("empty", "none", "No job used a GPU", [f"There was none {whom} in {answer.period}."], [longer])


def _missing(table: MetricsTable, is_staff: bool) -> Component | None:
    """Columns that nobody exports here, with the lines that mend it."""
    if not table.not_exported or not table.rows:
        return None
    names = ", ".join(COLUMNS[one.column].label for one in table.not_exported)
    said = [icon("none", "none"), html.Span([html.B(names), " not exported at this site: no exporter gives them."])]
    lines = list(dict.fromkeys(line for one in table.not_exported for line in one.lines))
    if not lines or not is_staff:
        return html.P([*said, html.Span(" Ask the staff to switch them on.")], className="fw-metrics-missing")
    comment = [line for line in lines if not line.startswith("  ")]
    wanted = [line.strip() for line in lines if line.startswith("  ")]
    body = [html.P(comment), *([code_block("counters file", wanted)] if wanted else [])]
    return html.Details(
        [html.Summary([*said, html.Span(" How to export them")]), *body], className="fw-metrics-missing"
    )


def _remark(table: MetricsTable) -> list[Component]:
    if not table.unknown:
        return []
    return [html.P([icon("partial", "none"), " ".join(table.unknown)], className="fw-remark", role="status")]


def metrics_page(answer: MetricsAnswer, *, refresh_seconds: float) -> Component:
    """The whole page; its data come with the first call of the callback, so that nobody waits for the frame."""
    chosen = answer.chosen
    stores = {key: chosen.get(key, "") for key in ("sort", "finding", "row", "application", "since", "until", "at")}
    return html.Div(
        [
            html.Div(
                [html.H1("Metrics"), html.Span(_note(answer), id="metrics-note", className="fw-note"), _rows(answer)],
                className="fw-head",
            ),
            _controls(answer),
            html.Div(_banner(answer), id="metrics-banner"),
            html.Div(id="metrics-remark"),
            html.Div([_scatter_panel(), _findings_panel()], className="fw-metrics-top", id="metrics-top"),
            _table_panel(chosen),
            *(dcc.Store(id=f"metrics-{key}", data=value) for key, value in stores.items()),
            dcc.Store(id="metrics-data"),
            dcc.Store(id="metrics-version"),
            dcc.Store(id="metrics-drawn"),
            dcc.Store(id="frame", data=frame_data(answer.snapshot) if answer.snapshot else None),
            dcc.Interval(id="metrics-tick", interval=round(refresh_seconds * 1000), disabled=bool(chosen.get("at"))),
        ],
        className="fw-ticking fw-metrics",
        **{"data-tick": "metrics-tick"},
    )


def _controls(answer: MetricsAnswer) -> Component:
    chosen = answer.chosen
    options = options_of(answer)
    selects = [
        select_filter(
            f"metrics-{key}",
            _TITLES[key],
            [(one["value"], one["label"]) for one in options[place][1:]],
            chosen.get(key, "") or ANY,
            "all",
        )
        for place, key in enumerate(FILTERS)
    ]
    periods = PERIODS if chosen["period"] in dict(PERIODS) else (*PERIODS, (chosen["period"], "as in the address"))
    parts = [_period(periods, chosen["period"]), *selects, _text(chosen.get("q", "")), _name()]
    return html.Div(parts, className="fw-filters fw-metrics-controls", role="group", **{"aria-label": "Filters"})


def _rows(answer: MetricsAnswer) -> Component:
    """What one row is."""
    chosen = answer.chosen
    split = dbc.Switch(id="metrics-split", label="by model too", value=chosen.get("split") == "1")
    return html.Div(
        [
            switch("metrics-group", "One row is one", GROUPS, chosen["group"]),
            html.Div(split, className="fw-metrics-split", title="Split rows by GPU model, to see models side by side."),
        ],
        className="fw-metrics-rows",
    )


def _period(periods: Sequence[Choice], value: str) -> Component:
    options = [{"label": text, "value": key} for key, text in periods]
    field = dbc.Select(id="metrics-period", options=options, value=value)
    return html.Div([html.Label("Period", htmlFor="metrics-period"), field], className="fw-filter")


def _text(value: str) -> Component:
    field = dbc.Input(
        id="metrics-q",
        type="search",
        value=value,
        debounce=0.4,
        maxlength=100,
        autocomplete="off",
        placeholder="job, name, user",
    )
    return html.Div(
        [html.Label("Text", htmlFor="metrics-q"), field], className="fw-filter fw-filter-text fw-text-filter"
    )


def _name() -> Component:
    """The application that the table is narrowed to; a click takes it back."""
    return html.Button(
        id="metrics-application-word",
        type="button",
        className="fw-button fw-is-set",
        hidden=True,
        **{"data-metrics-application": ""},
    )


def _scatter_panel() -> Component:
    head = [
        html.H2("UTIL against SM"),
        html.Span(id="metrics-scatter-note", className="fw-note"),
        html.Div(
            [
                html.Span("drag to select rows", className="fw-note fw-wide-only"),
                html.Button(
                    "Show as table",
                    type="button",
                    className=_BUTTON,
                    **{"data-metrics-twin": "1", "aria-pressed": "false"},
                ),
            ],
            className="fw-panel-right",
        ),
    ]
    return html.Section(
        [
            html.Div(head, className="fw-panel-head"),
            html.Div(id="metrics-scatter", className="fw-scatter"),
            html.Div(id="metrics-twin", className="fw-twin", hidden=True),
            html.P(id="metrics-said", className="fw-sr", role="status"),
        ],
        className="fw-panel",
    )


def _findings_panel() -> Component:
    head = html.Div(
        [html.H2("Findings"), html.Span("measured GPU-hours of what they hold for", className="fw-note")],
        className="fw-panel-head",
    )
    return html.Section([head, html.Div(id="metrics-findings")], className="fw-panel")


def _table_panel(chosen: Mapping[str, str]) -> Component:
    bones = [html.Span(className="fw-bone") for _ in range(8)]
    right = [
        html.A([icon("download"), "CSV"], id="metrics-csv", className=_BUTTON, download="metrics.csv"),
        html.A([icon("download"), "Parquet"], id="metrics-parquet", className=_BUTTON, download="metrics.parquet"),
    ]
    head = html.Div(
        [
            html.H2(f"By {dict(GROUPS)[chosen['group']].lower()}", id="metrics-title"),
            html.Span(id="metrics-count", className="fw-note"),
            html.Div(id="metrics-set", className="fw-metrics-set"),
            html.Span(
                [html.Span("asking the metrics"), html.Span(id="metrics-seconds")],
                id="metrics-asking",
                className="fw-note fw-late",
                hidden=True,
                role="status",
            ),
            html.Div(right, className="fw-panel-right"),
        ],
        className="fw-panel-head",
    )
    foot = [
        html.Span("means weighted by measured GPU-hours", className="fw-note"),
        html.Span([icon("partial", "none"), " measured for less than 80 %: read with care"], className="fw-note"),
        html.Span("– not measured", className="fw-note"),
    ]
    return html.Section(
        [
            head,
            html.Div(id="metrics-missing"),
            html.Div(id="metrics-instead"),
            html.Div(
                html.Div(bones, className="fw-metrics-bones fw-late"), id="metrics-table", className="fw-metrics-table"
            ),
            html.Div(foot, className="fw-metrics-foot", id="metrics-foot"),
        ],
        id="metrics-panel",
        className="fw-panel",
    )


def words_of(period: str, seconds: float) -> str:
    """ "the last 24 h", or the length of a range."""
    return f"the last {dict(PERIODS)[period]}" if period in dict(PERIODS) else duration(seconds)
