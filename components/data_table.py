"""A table that the server sorts and pages: plain HTML, read by keyboard, screen reader and paper alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import icon
from components.history_address import go
from data.words import number

DASH = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """`sort` is the key that a click sorts by ("" = not sortable). `place` says where a phone shows it: main, value,
    minor (second line) or hidden. Numbers are right-aligned."""

    label: str
    unit: str = ""
    sort: str = ""
    is_number: bool = False
    help: str = ""
    place: str = "minor"


def data_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    *,
    caption: str,
    order: str = "",
    store: str = "",
    link: Callable[[str], str] | None = None,
) -> Component:
    """`order` is the sort that is on ("-gpus" = downwards); `store` the id of the Store that a click on a head sets, or
    `link` the address that it leads to."""
    head = html.Tr([_head(column, order, store, link) for column in columns])
    body = [html.Tr([_cell(column, cell) for column, cell in zip(columns, row, strict=True)]) for row in rows]
    table = html.Table(
        [html.Caption(caption, className="fw-sr"), html.Thead(head), html.Tbody(body)], className="fw-table"
    )
    return html.Div(table, className="fw-table-box", tabIndex="0", role="region", **{"aria-label": caption})


def _head(column: Column, order: str, store: str, link: Callable[[str], str] | None) -> Component:
    name = [column.label, html.Span(column.unit, className="fw-unit")] if column.unit else [column.label]
    classes = _classes(column)
    if not (column.sort and (store or link)):
        return html.Th(name, scope="col", className=classes, title=column.help or None)
    is_on, is_down = order.removeprefix("-") == column.sort, order.startswith("-")
    first = f"-{column.sort}" if column.is_number else column.sort
    turned = column.sort if is_down else f"-{column.sort}"
    mark = [icon("down" if is_down else "up")] if is_on else []
    looks = {"className": "fw-sort", "title": column.help or None}
    to = turned if is_on else first
    button = (
        html.A([html.Span(name), *mark], href=link(to), **looks, **{"data-go": "1"})
        if link
        else html.Button([html.Span(name), *mark], type="button", **looks, **{"data-set": store, "data-value": to})
    )
    sorted_by = {"aria-sort": "descending" if is_down else "ascending"} if is_on else {}
    return html.Th(button, scope="col", className=classes, **sorted_by)


def _cell(column: Column, cell: Any) -> Component:
    return html.Td(cell, className=_classes(column), **{"data-label": column.label})


def _classes(column: Column) -> str:
    return f"fw-at-{column.place}" + (" fw-number" if column.is_number else "")


def ratio_cell(ratio: float | None, *, note: str = "", tone: str = "") -> Any:
    """A percent value over a bar; a dash without a bar where nothing was measured."""
    if ratio is None:
        return html.Span(DASH, title="not measured", className="fw-not-measured")
    points = ratio * 100
    text = number(points, 1 if 0 < points < 9.95 else 0)
    bar = html.Span(
        html.Span(style={"width": f"{min(100.0, max(0.0, points)):.1f}%"}),
        className="fw-inbar",
        **{"aria-hidden": "true"},
    )
    under = [html.Span(note, className="fw-under")] if note else []
    return html.Div([html.Span(text), bar, *under], className=f"fw-ratio {tone}".strip())


def pager(total: int, offset: int, limit: int, store: str, noun: str) -> Component:
    """ "1–100 of 2 310 jobs" with steps back and on."""
    if total == 0:
        return html.Div(className="fw-pager")
    last = min(total, offset + limit)
    text = f"{number(offset + 1)}–{number(last)} of {number(total)} {noun}"
    steps = [
        _step("Previous", max(0, offset - limit), store, off=offset == 0),
        _step("Next", offset + limit, store, off=last >= total),
    ]
    return html.Nav(
        [html.Span(text), *(steps if total > limit else [])],
        className="fw-pager",
        **{"aria-label": "Pages of the list"},
    )


def show_more(shown: int, total: int, href: str) -> Component:
    """ "20 of 2 310 shown", and a link to more of them in place."""
    said = html.Span(f"{number(shown)} of {number(total)} shown")
    return html.Div([said, go("Show more", href, className="fw-button")], className="fw-pager")


def _step(label: str, offset: int, store: str, *, off: bool) -> Component:
    more = {"data-set": store, "data-value": str(offset)}
    return html.Button(label, type="button", className="fw-button", disabled=off, **more)
