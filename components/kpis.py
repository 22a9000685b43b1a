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
    """One cell. `mark` is an icon and tone, only where somebody should act; `href` the list behind the number."""

    label: str
    value: str
    unit: str = ""
    context: Any = ""
    mark: tuple[str, str] | None = None
    help: str = ""
    href: str = ""
    trend: Trend | None = None


def kpi_panel(cells: Sequence[Kpi]) -> Component:
    """The strip; never more than 7 cells."""
    return html.Dl([_cell(cell) for cell in cells[:7]], className="fw-panel fw-kpis")


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
    return html.Div(parts, className="fw-kpi")
