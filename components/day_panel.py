"""The last 24 hours of the whole cluster on a wall screen: GPUs busy and held but idle, drawn as masks over colors."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from components.elements import moment, panel
from data.last_day import SPAN, DayOfUse
from data.words import number

WIDTH, HEIGHT = 960.0, 120.0
_X_TICKS, _Y_TICKS = 6, 2
Values = Sequence[float | None]


def day_panel(day: DayOfUse | None, gpus: int) -> Component | None:
    """The panel; None where that day is not known. `gpus` is how many the cluster has, the top of the scale."""
    busy, held = (day.trends.get(name) if day else None for name in ("busy", "allocated"))
    if day is None or not busy or not held:
        return None
    top = max([float(gpus), *(value for value in held if value is not None)])
    zero = [0.0] * len(busy)
    layers = [
        _layer("fw-day-busy", area(zero, busy, top)),
        _layer("fw-day-edge", line(busy, top)),
        _layer("fw-day-idle", area(busy, held, top)),
    ]
    plot = html.Div([*layers, *_y_axis(top)], className="fw-day-plot", role="img", **{"aria-label": _sentence(day)})
    return panel("GPUs by use", [plot, _x_axis(day), _table(day)], note="whole cluster, last 24 h", right=_legend())


def area(low: Values, high: Values, top: float) -> str:
    """The space between two lines as an SVG path; a gap in either is a gap."""
    size = max(1, len(high) - 1)
    rows = [(at, low[at], high[at]) for at in range(len(high))]
    parts = []
    for is_known, run in groupby(rows, lambda row: row[1] is not None and row[2] is not None):
        if is_known:
            known = [(at, bottom or 0.0, upper or 0.0) for at, bottom, upper in run]
            over = [_point(at / size, upper, top) for at, _, upper in known]
            under = [_point(at / size, bottom, top) for at, bottom, _ in reversed(known)]
            parts.append(f"M{' L'.join([*over, *under])}Z")
    return f"<path d='{' '.join(parts)}' fill='#000'/>"


def line(values: Values, top: float) -> str:
    """A line as an SVG path; a gap in the data is a gap in the line."""
    size = max(1, len(values) - 1)
    parts = []
    for is_known, run in groupby(enumerate(values), lambda one: one[1] is not None):
        if is_known:
            parts.append(f"M{' L'.join(_point(at / size, value or 0.0, top) for at, value in run)}")
    stroke = "fill='none' stroke='#000' stroke-width='1.5' vector-effect='non-scaling-stroke'"
    return f"<path d='{' '.join(parts)}' {stroke}/>"


def _point(share: float, value: float, top: float) -> str:
    return f"{share * WIDTH:.1f} {HEIGHT - value / top * HEIGHT if top else HEIGHT:.1f}"


def _layer(name: str, path: str) -> Component:
    box = f"xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH:.0f} {HEIGHT:.0f}' preserveAspectRatio='none'"
    url = f'url("data:image/svg+xml,{quote(f"<svg {box}>{path}</svg>", safe="")}")'
    return html.Span(className=f"fw-day-layer {name}", style={"--line": url}, **{"aria-hidden": "true"})


def _y_axis(top: float) -> list[Component]:
    ticks = [top * place / _Y_TICKS for place in range(_Y_TICKS + 1)]
    return [
        html.Span(number(value), className="fw-day-tick", style={"bottom": f"{value / top * 100 if top else 0:.2f}%"})
        for value in ticks
    ]


def _x_axis(day: DayOfUse) -> Component:
    times = [day.until - SPAN + SPAN * place / _X_TICKS for place in range(_X_TICKS + 1)]
    return html.Div([moment(time) for time in times], className="fw-day-axis")


def _legend() -> list[Component]:
    words = (("fw-day-busy", "Busy"), ("fw-day-idle", "Held, idle"))
    return [html.Span([html.Span(className=f"fw-swatch {name}"), text], className="fw-key") for name, text in words]


def _sentence(day: DayOfUse) -> str:
    known = [value for value in day.trends["busy"] if value is not None]
    idle = [value for value in day.trends.get("idle", ()) if value is not None]
    most = f", at most {number(max(idle))} held and idle" if idle else ""
    return f"Between {number(min(known))} and {number(max(known))} GPUs busy{most}"


def _table(day: DayOfUse) -> Component:
    """The same numbers hour by hour."""
    busy, idle = day.trends["busy"], day.trends.get("idle", ())
    size = len(busy)
    head = html.Thead(html.Tr([html.Th(text, scope="col") for text in ("Until", "Busy", "Held, idle")]))
    rows = []
    for hour in range(1, 25):
        at = max(0, round(size * hour / 24) - 1)
        cells = [html.Td(_shown(values, at)) for values in (busy, idle)]
        time = moment(day.until - SPAN + timedelta(hours=hour))
        rows.append(html.Tr([html.Th(time, scope="row"), *cells]))
    table = html.Table([head, html.Tbody(rows)], className="fw-plain-table")
    return html.Details([html.Summary("Show as table"), table], className="fw-day-table")


def _shown(values: Values, at: int) -> str:
    value = values[at] if at < len(values) else None
    return "–" if value is None else number(value)
