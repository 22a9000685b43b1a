"""What needs somebody now: one row per thing, the most GPUs first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import icon, unbroken
from data.words import number

SHOWN, MOST = 9, 100
WARNING = ("waste", "waste")
KEPT_ROWS = 4096  # most rows are the same from one picture to the next, and are not made anew


@dataclass(frozen=True, slots=True)
class AttentionRow:
    """One line: what is so, why, and how many of what (None = it is not about a number)."""

    mark: tuple[str, str]
    title: Any
    context: tuple[Any, ...]
    amount: int | None
    what: str
    href: str = ""


def attention_panel(rows: Sequence[AttentionRow]) -> Component:
    """The list with the count in its head; what does not fit is behind one tap."""
    note = f"{number(len(rows))} open" if rows else "nothing open"
    head = [html.H2("Needs attention"), html.Span(note, className="fw-note")]
    if rows:
        head.append(html.Span("most GPUs first", className="fw-note fw-panel-right"))
    parts: list[Component] = [html.Div(head, className="fw-panel-head")]
    parts.append(_list(rows[:SHOWN]) if rows else html.P("No GPU waits for anybody.", className="fw-quiet"))
    if len(rows) > SHOWN:
        parts.append(html.Details(_more(rows)))
    return html.Section(parts, className="fw-panel")


def _more(rows: Sequence[AttentionRow]) -> list[Component]:
    """The rest; of many warnings those with the most GPUs, for Jobs and Nodes list them all."""
    kept = [row for place, row in enumerate(rows) if place >= SHOWN and (place < MOST or row.mark != WARNING)]
    left = len(rows) - SHOWN - len(kept)
    parts: list[Component] = [html.Summary(f"{number(len(rows) - SHOWN)} more"), _list(kept)]
    if left:
        text = f"And {number(left)} warnings with fewer GPUs each: Jobs (most idle first) and Nodes list them."
        parts.append(html.P(text, className="fw-quiet"))
    return parts


def _list(rows: Sequence[AttentionRow]) -> Component:
    return html.Ul([_row(row) for row in rows], className="fw-attention")


@lru_cache(maxsize=KEPT_ROWS)
def _row(row: AttentionRow) -> Component:
    context = [unbroken(part) if isinstance(part, str) else part for part in row.context]
    said = [html.Div(row.title, className="fw-title"), html.Div(context, className="fw-context")]
    affected = [] if row.amount is None else [html.B(number(row.amount)), html.Div(row.what, className="fw-what")]
    parts = [icon(*row.mark), html.Div(said), html.Div(affected, className="fw-count")]
    link = dcc.Link(parts, href=row.href, className="fw-line") if row.href else html.Div(parts, className="fw-line")
    return html.Li(link)
