"""Tables, meters and lines that fit 80 columns, work without color, and are safe to print.

Names of jobs, users and nodes come from others: whatever a terminal could take for a command is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from data.words import NOT_MEASURED, clean

ABSENT = "–"
WIDE = 110
GAP, LEAST_TEXT = 2, 12
BAR_CELLS = 16


@dataclass(frozen=True, slots=True)
class Column:
    """`is_wide` columns are left out where they do not fit beside the others. Numbers and the first column, which says
    what the row is about, are never cut; of the others the widest is cut first."""

    title: str
    is_number: bool = False
    is_wide: bool = False


def cell(text: str | None) -> str:
    """A table's cell: a dash for what is not measured or not known."""
    return ABSENT if text is None or text in {"", NOT_MEASURED} else clean(text)


def line(*parts: str | tuple[str, str]) -> Text:
    """One line of (text, style) parts."""
    return Text.assemble(*(clean(part) if isinstance(part, str) else (clean(part[0]), part[1]) for part in parts))


def table(columns: Sequence[Column], rows: Iterable[Sequence[str | Text | None]], width: int) -> Table:
    """A table without frames; every row has a cell for every column."""
    cells = [[_shown(value) for value in row] for row in rows]
    shown = _fitting(columns, cells, width)
    made = Table(box=None, padding=(0, GAP, 0, 0), header_style="bold", pad_edge=False)
    for number in shown:
        column = columns[number]
        made.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            # Without it the cells, which never wrap, are cut: rich takes from all columns alike that have it.
            no_wrap=column.is_number or number == 0,
            overflow="ellipsis",
            min_width=len(column.title) if column.is_number else min(len(column.title), 6),
        )
    for row in cells:
        made.add_row(*(row[number] for number in shown))
    return made


def _fitting(columns: Sequence[Column], cells: Sequence[Sequence[Text]], width: int) -> list[int]:
    """The columns to show, in their order: all that are not wide, and of the wide ones each that still fits."""
    needs = [_need(column, number == 0, [row[number] for row in cells]) for number, column in enumerate(columns)]
    left = width - sum(need for need, column in zip(needs, columns, strict=True) if not column.is_wide)
    shown = []
    for number, column in enumerate(columns):
        if column.is_wide and width >= WIDE and needs[number] <= left:
            left -= needs[number]
        elif column.is_wide:
            continue
        shown.append(number)
    return shown


def _need(column: Column, is_first: bool, cells: Sequence[Text]) -> int:
    whole = max((len(column.title), *(one.cell_len for one in cells)))
    return GAP + (whole if column.is_number or is_first else min(whole, LEAST_TEXT))


def _shown(value: str | Text | None) -> Text:
    made = value.copy() if isinstance(value, Text) else Text(cell(value))
    made.no_wrap, made.overflow = True, "ellipsis"
    return made


def bar(ratio: float | None, style: str = "") -> Text:
    """A meter; empty brackets say that nothing was measured."""
    if ratio is None:
        return Text(f"[{' ' * BAR_CELLS}]")
    full = round(min(1.0, max(0.0, ratio)) * BAR_CELLS)
    full = max(full, 1) if ratio > 0 else full
    return Text.assemble("[", ("|" * full, style), " " * (BAR_CELLS - full), "]")
