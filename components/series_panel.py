"""Small multiples of one metric: one box per device, the same axes, gaps as gaps; and the same as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dash_bootstrap_components as dbc
from dash import dcc, html
from dash.development.base_component import Component

from components.elements import Choice, choice, panel_state, switch, try_again
from components.metric_values import cell_text, label, shown, value_text
from data.device_lines import Line
from data.metrics.registry import METRICS
from data.queries.node_detail import SERIES_METRICS, NodeSeries
from data.words import duration, percent

RANGES: tuple[Choice, ...] = (("1h", "1 h"), ("6h", "6 h"), ("24h", "24 h"), ("7d", "7 d"))
METRIC_CHOICES: tuple[Choice, ...] = tuple((name, label(name)) for name in SERIES_METRICS)
SHOWN = 16
_WHOLE_AT_LEAST = {"temperature_celsius": 100.0, "power_watts": 100.0, "xid": 1.0}


def series_panel(found: NodeSeries, range_name: str) -> Component:
    """The panel as it stands on the page; `range_name` "" = a span of the address's own."""
    controls = [
        choice("series-metric", "Metric", METRIC_CHOICES, found.metric),
        switch("series-range", "Span of time", RANGES, range_name),
    ]
    head = [html.H2("Series per device"), html.Span(series_note(found), id="series-note", className="fw-note")]
    panel_head = html.Div([*head, html.Div(controls, className="fw-panel-right")], className="fw-panel-head")
    return html.Section(
        [
            panel_head,
            html.Div(series_instead(found), id="series-instead"),
            html.Div(id="series-boxes", className="fw-multiples"),
            _span_form(),
            html.Details([html.Summary("Show as table"), html.Div(series_table(found), id="series-table")]),
            dcc.Store(id="series-data", data=series_payload(found)),
            dcc.Store(id="series-drawn"),
        ],
        className="fw-panel",
        id="series-panel",
    )


def _span_form() -> Component:
    """Any span: from and to in the viewer's own zone."""
    fields = [
        html.Label("From", htmlFor="series-from"),
        dbc.Input(id="series-from", type="datetime-local", size="sm"),
        html.Label("to", htmlFor="series-to"),
        dbc.Input(id="series-to", type="datetime-local", size="sm"),
        html.Button("Show", type="button", className="fw-button fw-small-button", **{"data-span": "1"}),
        html.Span("or drag over a chart", className="fw-note"),
    ]
    return html.Details([html.Summary("Another span of time"), html.Div(fields, className="fw-span")])


def series_note(found: NodeSeries) -> str:
    """What is drawn: metric, span, and what one point is."""
    span = duration(found.window.seconds)
    point = "every sample" if found.step_seconds is None else f"means of {duration(found.step_seconds)}"
    most = value_text(found.metric, axis_end(found) / shown(METRICS[found.metric]).factor)
    return f"0 to {most}, {span}, {point}"


def axis_end(found: NodeSeries) -> float:
    """Where the axis of every chart ends, in the unit on screen."""
    form = shown(METRICS[found.metric])
    most = max((line.most or 0.0 for line in found.lines), default=0.0)
    return form.high or _nice(most * form.factor, found.metric)


def series_instead(found: NodeSeries) -> list[Component]:
    """What stands in place of the charts where there is none."""
    if found.unknown:
        return [panel_state("bad", "bad", "No series", [found.unknown], [try_again()])]
    if not found.lines:
        return [panel_state("empty", "", "No GPU on this node", ["Series are those of GPUs."])]
    if not any(line.times for line in found.lines):
        text = f"{label(found.metric)} has no sample of this node in this span. Choose another metric or a longer span."
        return [panel_state("none", "none", "Not measured", [text])]
    return []


def series_payload(found: NodeSeries) -> dict[str, Any]:
    """Points for the browser: times in seconds from the start, values in the unit on screen, null = a gap."""
    has_any = any(line.times for line in found.lines)
    form = shown(METRICS[found.metric])
    lines = _in_order(found.lines) if has_any else []
    start = found.window.start.timestamp()
    return {
        "name": label(found.metric),
        "help": METRICS[found.metric].help,
        "unit": form.unit,
        "start": start,
        "end": found.window.end.timestamp(),
        "high": axis_end(found),
        "more": max(0, len(lines) - SHOWN),
        "lines": [
            {
                "name": place_name(line),
                "mean": "not measured" if line.mean is None else f"mean {value_text(line.metric, line.mean)}",
                "foot": _foot(line),
                "t": [round(time - start, 1) for time in line.times],
                "v": [None if value is None else round(value * form.factor, 3) for value in line.values],
            }
            for line in lines
        ],
    }


def _in_order(lines: Sequence[Line]) -> Sequence[Line]:
    """As on the node; of more than `SHOWN`, those with the lowest means first."""
    if len(lines) <= SHOWN:
        return lines
    return sorted(lines, key=lambda line: math.inf if line.mean is None else line.mean)


def place_name(line: Line) -> str:
    index, slice_id = line.place
    name = f"GPU {'?' if index is None else index}"
    return f"{name}/{slice_id}" if slice_id else name


def _foot(line: Line) -> str:
    if not line.times:
        return "no samples"
    words = f"{cell_text(line.metric, line.least)} to {value_text(line.metric, line.most)}"
    of = [line.slice_profile, "GR" if line.place[1] and line.metric == "graphics_engine_activity" else None]
    rest = [] if line.measured >= 0.98 else [f"{percent(line.measured)} measured"]
    return ", ".join([*(word for word in of if word), words, *rest])


def _nice(most: float, metric: str) -> float:
    """The end of an axis: the next of 1, 2, 2.5, 5 times a power of ten."""
    least = max(most, _WHOLE_AT_LEAST.get(metric, 0.0))
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * 0.999)


def series_table(found: NodeSeries) -> Component:
    """The charts as numbers: mean, least and most of each device."""
    unit = shown(METRICS[found.metric]).unit
    words = ("Device", ""), ("Mean", unit), ("Least", unit), ("Most", unit), ("Measured", "%")
    head = html.Tr([html.Th([name, html.Span(unit, className="fw-unit")], scope="col") for name, unit in words])
    rows = [
        html.Tr(
            [
                html.Th(place_name(line), scope="row"),
                *(html.Td(cell_text(line.metric, value)) for value in (line.mean, line.least, line.most)),
                html.Td(cell_text("gpu_utilization", line.measured) if line.times else "–"),
            ]
        )
        for line in found.lines
    ]
    return html.Table([html.Thead(head), html.Tbody(rows)], className="fw-plain-table")
