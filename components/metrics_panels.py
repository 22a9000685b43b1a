"""The panels of detailed metrics before their data: scatter, findings, table."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html
from dash.development.base_component import Component

from components.elements import icon
from components.metrics_answer import GROUPS

_BUTTON = "fw-button fw-small-button"


def scatter_panel() -> Component:
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


def findings_panel() -> Component:
    head = html.Div(
        [html.H2("Findings"), html.Span("measured GPU-hours of what they hold for", className="fw-note")],
        className="fw-panel-head",
    )
    return html.Section([head, html.Div(id="metrics-findings")], className="fw-panel")


def table_panel(chosen: Mapping[str, str]) -> Component:
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
