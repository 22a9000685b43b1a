"""The page of detailed metrics put together: one answer in, components out."""

from __future__ import annotations

from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import moment
from components.metrics_answer import MetricsAnswer
from components.metrics_controls import filters, options_of, row_switch
from components.metrics_findings import findings_list
from components.metrics_panels import findings_panel, scatter_panel, table_panel
from components.metrics_payload import PayloadContext, metrics_payload
from components.metrics_states import banners, instead, missing_columns, remark
from components.shell import frame_data
from data.queries.metrics.model import Origin


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
        banners(answer),
        instead(answer),
        findings_list(table.findings, table.advice, answer.chosen.get("finding", "")) if table else None,
        missing_columns(table, answer.is_staff) if table else None,
        remark(table) if table else None,
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


def _note(answer: MetricsAnswer) -> list[Any]:
    table = answer.table
    if table is None:
        return ["how the GPUs were used, not only whether"]
    source = "kept history" if table.origin is Origin.HISTORY else "the metrics server"
    span = html.Span([moment(table.since), " to ", moment(table.until)], className="fw-nowrap")
    return [f"{answer.period}, ", span, html.Span(f", from {source}", className="fw-wide-only")]


def metrics_page(answer: MetricsAnswer, *, refresh_seconds: float) -> Component:
    """The whole page; its data come with the first call of the callback, so that nobody waits for the frame."""
    chosen = answer.chosen
    stores = {key: chosen.get(key, "") for key in ("sort", "finding", "row", "application", "since", "until", "at")}
    return html.Div(
        [
            html.Div(
                [
                    html.H1("Metrics"),
                    html.Span(_note(answer), id="metrics-note", className="fw-note"),
                    row_switch(answer),
                ],
                className="fw-head",
            ),
            filters(answer),
            html.Div(banners(answer), id="metrics-banner"),
            html.Div(id="metrics-remark"),
            html.Div([scatter_panel(), findings_panel()], className="fw-metrics-top", id="metrics-top"),
            table_panel(chosen),
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
