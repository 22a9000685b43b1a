"""One small chart per GPU of a job, all on the same scale; drawn in the browser from a Store."""

from __future__ import annotations

import math
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import moment, switch
from components.job_words import DASH
from data.metrics.registry import METRICS
from data.queries.job_series import MOST_SHOWN, PLOTTED, DeviceSeries, JobSeries
from data.report import GpuUse
from data.words import GIB, count, duration, number, percent

_WORTH_A_MARK = 0.1  # share of the time; a start-up of minutes is not worth one
CHOICES = tuple((name, METRICS[name].label) for name in PLOTTED)
_SCALES = {"ratio": (1000.0, "%"), "bytes": (10.0 / GIB, "GiB"), "watts": (1.0, "W")}
_DIVISORS = {"%": 10, "GiB": 10, "W": 1}


def chart_panel(series: JobSeries, *, is_hidden: bool, shows_all: bool) -> Component:
    """The panel with its controls, which a refresh never replaces."""
    titles = {name: METRICS[name].help for name in PLOTTED}
    right = html.Div(switch("job-metric", "Metric", CHOICES, series.metric, titles), className="fw-panel-right")
    head = [
        html.H2("Over time, per GPU"),
        html.Span(chart_note(series), id="job-chart-note", className="fw-note"),
        right,
    ]
    legend = html.Div(
        [
            html.Span([html.Span(className="fw-line-swatch"), html.Span("measured")]),
            html.Span([html.Span(className="fw-idle-swatch"), "idle: exactly 0"]),
            html.Span("drag to zoom, Esc resets", className="fw-unit fw-zoom-hint"),
            html.Button(
                "Whole run", type="button", className="fw-button fw-small", hidden=True, **{"data-zoom-out": "1"}
            ),
        ],
        className="fw-chart-legend",
    )
    charts = html.Div(id="job-charts", className="fw-charts", style=room_of(len(series.devices)))
    return html.Section(
        [
            html.Div(head, className="fw-panel-head"),
            legend,
            charts,
            html.Div(more_button(series, shows_all), id="job-more", className="fw-more"),
            dcc.Store(id="job-series", data=chart_payload(series)),
            dcc.Store(id="job-all", data="1" if shows_all else ""),
        ],
        id="job-chart-panel",
        className="fw-panel",
        hidden=is_hidden,
    )


def room_of(charts: int) -> dict[str, int]:
    """The rows that so many charts fill, four or (on a phone) two to a row: nothing moves when they are drawn."""
    return {"--fw-rows": math.ceil(charts / 4), "--fw-rows-narrow": math.ceil(charts / 2)} if charts else {}


def chart_note(series: JobSeries) -> list[Any]:
    """Name, scale and span in words."""
    facts = METRICS[series.metric]
    name = html.Abbr(facts.label, title=facts.help)
    if series.window is None:
        return [name]
    scale = " 0–100 %" if facts.unit == "ratio" else f", {_SCALES[facts.unit][1]}"
    return [name, scale, ", ", moment(series.window.start), " to ", moment(series.window.end)]


def more_button(series: JobSeries, shows_all: bool) -> list[Any]:
    """ "Show all 64 GPUs" where only the worst are drawn, and why there is nothing to draw."""
    if series.failed:
        return [html.P("GPU metrics do not answer: nothing is drawn.", className="fw-remark", role="status")]
    if not series.devices:
        return [html.P("No series of this job's GPUs are kept.", className="fw-remark")] if series.total else []
    if series.total <= MOST_SHOWN:
        return []
    text = f"Show the worst {MOST_SHOWN}" if shows_all else f"Show all {count(series.total, 'GPU')}"
    note = "" if shows_all else f"the {MOST_SHOWN} that do least"
    button = html.Button(
        text, type="button", className="fw-button", **{"data-set": "job-all", "data-value": "" if shows_all else "1"}
    )
    return [button, html.Span(note, className="fw-unit")]


def chart_payload(series: JobSeries) -> dict[str, Any] | None:
    """Columns of whole numbers: seconds since the start, and values times `divisor`. None = nothing to draw."""
    if not series.devices or series.window is None:
        return None
    factor, unit = _SCALES[METRICS[series.metric].unit]
    several = len({one.gpu.node for one in series.devices}) > 1
    return {
        "start": series.window.start.timestamp(),
        "seconds": series.window.seconds,
        "step": series.step_seconds,
        "unit": unit,
        "divisor": _DIVISORS[unit],
        "most": _most(series, factor),
        "label": METRICS[series.metric].label,
        "rows": [_row(one, series, factor, several) for one in series.devices],
    }


def _most(series: JobSeries, factor: float) -> float:
    """The end of the common scale."""
    if METRICS[series.metric].unit == "ratio":
        return 1000
    given = [one.gpu.memory.given for one in series.devices] if series.metric.startswith("gpu_memory") else []
    watts = [one.gpu.model.maximum_watts for one in series.devices if one.gpu.model] if not given else []
    known = [value * factor for value in (*given, *watts) if value]
    peaks = [max(one.values) * factor for one in series.devices if one.values]
    return max([*known, *peaks, 1.0])


def _row(one: DeviceSeries, series: JobSeries, factor: float, several: bool) -> dict[str, Any]:
    return {
        "name": device_name(one.gpu, with_node=several),
        "mean": _mean(one, series.metric),
        "foot": _foot(one, series),
        "warn": (one.gpu.idle_share or 0.0) >= _WORTH_A_MARK,
        "idle": [[round(first), round(last)] for first, last in one.idle],
        "t": [round(time) for time in one.times],
        "v": [round(value * factor) for value in one.values],
        "as": METRICS[one.metric].label,
    }


def device_name(gpu: GpuUse, *, with_node: bool) -> str:
    """ "GPU 3", "h014 GPU 3", "GPU 0 slice 7"."""
    index = "?" if gpu.device is None or gpu.device.index is None else str(gpu.device.index)
    part = f" slice {gpu.device.slice_id}" if gpu.device is not None and gpu.device.slice_id is not None else ""
    return (f"{gpu.node} " if with_node and gpu.node else "") + f"GPU {index}{part}"


def _mean(one: DeviceSeries, metric: str) -> str:
    """Of all raw samples where the report has it, not of the drawn points."""
    mean = one.gpu.mean(one.metric)
    if mean is None:
        return DASH
    if METRICS[metric].unit == "ratio":
        return percent(mean)
    return f"{number(mean / GIB, 1)} GiB" if METRICS[metric].unit == "bytes" else f"{number(mean)} W"


def _foot(one: DeviceSeries, series: JobSeries) -> str:
    """Idle time by the raw samples of the utilization."""
    share = one.gpu.idle_share
    if one.gpu.utilization is None:
        return "not measured"
    if share is None or series.window is None:
        return ""
    if share == 0:
        return "never idle"
    measured = min(1.0, one.gpu.coverage if one.gpu.coverage is not None else 1.0)
    return f"idle {duration(share * measured * series.window.seconds)}"
