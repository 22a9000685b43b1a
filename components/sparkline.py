"""A small line of the last hours: shape only, the numbers stand beside it. A gap in the data is a gap in the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

WIDTH, HEIGHT = 120.0, 24.0


@dataclass(frozen=True, slots=True)
class Trend:
    """Values at even steps, the oldest first; None = not known. `name` says in words what it is."""

    values: tuple[float | None, ...]
    name: str


def sparkline(trend: Trend) -> Component:
    """The line, from its own lowest to its own highest value; drawn as a mask, so that it has the color of text."""
    url = f'url("data:image/svg+xml,{quote(svg(trend.values), safe="")}")'
    return html.Span(
        className="fw-spark", style={"--line": url}, role="img", title=trend.name, **{"aria-label": trend.name}
    )


def svg(values: Sequence[float | None]) -> str:
    """The line as an SVG picture."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    size = max(1, len(values) - 1)

    def point(at: int, value: float) -> str:
        share = 0.5 if high == low else (value - low) / (high - low)
        return f"{at * WIDTH / size:.1f} {HEIGHT - 1.5 - share * (HEIGHT - 3):.1f}"

    lines = []
    for is_known, run in groupby(enumerate(values), lambda one: one[1] is not None):
        if is_known:
            points = [point(at, value) for at, value in run if value is not None]
            lines.append(f"M{' L'.join(points)}" + ("h.1" if len(points) == 1 else ""))
    stroke = "fill='none' stroke='#000' stroke-width='1.25' vector-effect='non-scaling-stroke'"
    path = f"<path d='{' '.join(lines)}' {stroke}/>"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH:.0f} {HEIGHT:.0f}' preserveAspectRatio='none'>"
        f"{path}</svg>"
    )
