"""The KPI strip: one panel, one number per cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import icon
from components.sparkline import Trend, sparkline


@dataclass(frozen=True, slots=True)
class Kpi:
    """One cell. `mark` is an icon and tone, only where somebody should act; `href` the list behind the number.

    `no_trend` says why a cell that has a trend has none now; `is_old` marks a number of a source that does not answer.
    """

    label: str
    value: str
    unit: str = ""
    context: Any = ""
    mark: tuple[str, str] | None = None
    help: str = ""
    href: str = ""
    trend: Trend | None = None
    no_trend: str = ""
    is_old: bool = False


def kpi_panel(cells: Sequence[Kpi]) -> Component:
    """The strip; never more than 7 cells. It keeps the room of a trend that will come, and only of such a one."""
    has_trends = any(cell.trend is not None or cell.no_trend for cell in cells)
    classes = "fw-panel fw-kpis" if has_trends else "fw-panel fw-kpis fw-no-trend"
    return html.Dl([_cell(cell) for cell in cells[:7]], className=classes)


def _cell(cell: Kpi) -> Component:
    label = [icon(*cell.mark), cell.label] if cell.mark else [cell.label]
    value = [cell.value, html.Span(cell.unit, className="fw-unit")] if cell.unit else [cell.value]
    if cell.href:
        label = [dcc.Link(label, href=cell.href, className="fw-kpi-link")]
    parts = [
        html.Dt(label, title=cell.help or None),
        html.Dd(value, className="fw-value"),
        html.Dd(cell.context, className="fw-context"),
    ]
    if cell.trend is not None:
        parts.append(html.Dd(sparkline(cell.trend), className="fw-trend"))
    elif cell.no_trend:
        parts.append(html.Dd(html.Span(className="fw-spark-none", title=cell.no_trend), className="fw-trend"))
    return html.Div(parts, className="fw-kpi fw-is-old" if cell.is_old else "fw-kpi")
