"""The side list of diagnoses: which cost how many GPU-hours. A click narrows the table to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon
from data.findings.advice import Advice
from data.queries.metrics.model import FindingUse
from data.words import number


def findings_list(uses: Sequence[FindingUse], advice: Mapping[str, Advice], chosen: str) -> Component:
    """One line per diagnosis, most GPU-hours first."""
    if not uses:
        inside = [icon("ok", "ok"), html.P("Nothing stands out by this site's limits.")]
        return html.Div(inside, className="fw-findings-none")
    most = max(use.gpu_hours for use in uses) or 1.0
    head = html.Tr(
        [
            html.Th("Finding", scope="col"),
            html.Th("Jobs", scope="col", className="fw-number"),
            html.Th("GPU-hours", scope="col", className="fw-number"),
            html.Th(html.Span("Share", className="fw-sr"), scope="col"),
        ]
    )
    rows = [_line(use, advice, most, chosen) for use in uses]
    return html.Table(
        [html.Caption("Findings", className="fw-sr"), html.Thead(head), html.Tbody(rows)], className="fw-findings"
    )


def _line(use: FindingUse, advice: Mapping[str, Advice], most: float, chosen: str) -> Component:
    row = advice.get(use.id)
    pressed = {"aria-pressed": str(use.id == chosen).lower(), "data-metrics-finding": use.id}
    button: Any = html.Button(
        row.name if row else use.id, type="button", title=row.when if row else None, className="fw-link", **pressed
    )
    bar = html.Span(html.Span(style={"width": f"{use.gpu_hours / most * 100:.1f}%"}), className="fw-amountbar")
    return html.Tr(
        [
            html.Th(button, scope="row"),
            html.Td(number(use.jobs), className="fw-number"),
            html.Td(html.B(number(use.gpu_hours, 1 if use.gpu_hours < 99.95 else 0)), className="fw-number"),
            html.Td(bar, **{"aria-hidden": "true"}),
        ]
    )
