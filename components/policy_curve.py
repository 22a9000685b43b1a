"""Where complaints begin: what a rule would have done over its threshold, or over its first step, as small charts. The
table below them says the same in numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from components.history_address import go
from components.policy_address import PolicyAddress
from data.words import duration, number
from policy.whatif.model import Outcome, WhatIf

Point = tuple[float, float]
_CHARTS: tuple[tuple[str, str, Callable[[Outcome], float]], ...] = (
    ("GPU-hours saved", "", lambda one: one.saved_gpu_hours),
    ("Users with a cancelled job", "", lambda one: one.cancelled.users),
    ("False alarms", "jobs", lambda one: one.false_alarms.jobs),
)
_ROUND = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def curve_charts(one: WhatIf, address: PolicyAddress) -> Component:
    """The forms with the window of the rule as it is asked for, lowest first, and the way to the other windows."""
    forms = sorted((each for each in one.curve if each.window_seconds == one.outcome.window_seconds), key=_place)
    charts = [_chart(title, unit, forms, one.outcome, value) for title, unit, value in _CHARTS]
    return html.Div([*_windows(one, address), html.Div(charts, className="fw-curves")], className="fw-pad")


def form_text(one: Outcome) -> str:
    """A form in an address: threshold and minutes of the window, or minutes of the first step."""
    if one.threshold is None or one.window_seconds is None:
        return f"{(one.first_step_seconds or 0.0) / 60:g}"
    return f"{one.threshold:g}/{one.window_seconds / 60:g}"


def _place(one: Outcome) -> float:
    """Where a form stands: its threshold in percent, or its first step in minutes."""
    return 100 * one.threshold if one.threshold is not None else (one.first_step_seconds or 0.0) / 60


def _windows(one: WhatIf, address: PolicyAddress) -> list[Component]:
    own = {each.window_seconds: each for each in one.curve if each.threshold == one.outcome.threshold}
    if len(own) < 2:
        return []
    links = [
        go(
            duration(seconds),
            address.href(form=form_text(each)),
            **({"aria-current": "true"} if seconds == one.outcome.window_seconds else {}),
        )
        for seconds, each in sorted(own.items(), key=lambda pair: pair[0] or 0.0)
    ]
    choice = html.Div(links, className="fw-segments fw-links", role="group", **{"aria-label": "Window"})
    return [html.Div([html.Span("Window", className="fw-unit"), choice], className="fw-filters fw-curve-windows")]


def _chart(
    title: str, unit: str, forms: Sequence[Outcome], own: Outcome, value: Callable[[Outcome], float]
) -> Component:
    most, last = rounded_up(max(map(value, forms), default=0.0)), max(map(_place, forms), default=0.0) or 1.0
    points = [(_place(one) / last, value(one) / most) for one in forms]
    here, x_unit = (_place(own) / last, value(own) / most), "%" if own.threshold is not None else "min"
    said = "; ".join(f"{number(_place(one))} {x_unit}: {number(value(one))}" for one in forms)
    url = f'url("data:image/svg+xml,{quote(curve_svg(points), safe="")}")'
    plot = [
        *(_mark("fw-curve-y", number(most * share), bottom=share) for share in (0.0, 0.5, 1.0)),
        *(_mark("fw-curve-x", number(_place(one)), left=x) for one, (x, _) in zip(forms, points, strict=True)),
        html.Span(className="fw-curve-line", style={"--line": url}),
        _mark("fw-curve-here", "", left=here[0]),
        _mark("fw-curve-dot", "", left=here[0], bottom=here[1]),
    ]
    what = "threshold of the mean, %" if own.threshold is not None else "first step, min"
    head = html.Div([title, " ", html.Span(unit, className="fw-unit"), html.B(number(value(own)))])
    drawn = html.Div(plot, className="fw-curve-plot", role="img", **{"aria-label": f"{title} by {what}. {said}"})
    return html.Div([head, drawn, html.Div(what, className="fw-unit fw-curve-foot")], className="fw-curve")


def _mark(name: str, text: str, **places: float) -> Component:
    return html.Span(text, className=name, style={side: f"{100 * share:.2f}%" for side, share in places.items()})


def rounded_up(value: float) -> float:
    """The next number from here on that an axis may end with; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(step * power for step in _ROUND if step * power >= value * (1 - 1e-9))


def curve_svg(points: Sequence[Point]) -> str:
    """A line through points of a unit square, as a picture to mask with."""
    parts = [
        f"M{100 * x:.2f} {100 - 100 * y:.2f}L{100 * to:.2f} {100 - 100 * up:.2f}"
        for (x, y), (to, up) in pairwise(points)
    ]
    stroke = "fill='none' stroke='#000' stroke-width='1.5' vector-effect='non-scaling-stroke'"
    return (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 100' preserveAspectRatio='none' overflow='visible'>"
        f"<path d='{''.join(parts)}' {stroke}/></svg>"
    )
