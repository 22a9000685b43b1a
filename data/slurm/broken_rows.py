"""Read many rows so that a broken one is counted and named, and the others are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from data.errors import FullwarpError
from data.model import Rows

Item = TypeVar("Item")
Row = TypeVar("Row")
_NAMED: Final = 5
# What a value of an unexpected type can raise in code that reads it; anything else is a fault of ours.
_UNREADABLE: Final = (FullwarpError, AttributeError, TypeError, ValueError, LookupError, ArithmeticError)


def read_rows(items: Iterable[Item], read: Callable[[Item], Row | None], name: Callable[[Item], object]) -> Rows[Row]:
    """Rows that `read` makes of `items`; None leaves one out. The first few broken ones are named with a reason."""
    rows: list[Row] = []
    broken: list[str] = []
    count = 0
    for item in items:
        try:
            row = read(item)
        except _UNREADABLE as err:
            count += 1
            if len(broken) < _NAMED:
                broken.append(f"{_label(item, name)}: {_reason(err)}")
            continue
        if row is not None:
            rows.append(row)
    return Rows(tuple(rows), count, tuple(broken))


def joined(parts: Iterable[Rows[Row]]) -> Rows[Row]:
    """Several answers as one, with their broken rows added up."""
    parts = tuple(parts)
    examples = tuple(example for part in parts for example in part.broken_examples)[:_NAMED]
    warnings = tuple(warning for part in parts for warning in part.warnings)
    return Rows(tuple(row for part in parts for row in part.rows), sum(p.broken for p in parts), examples, warnings)


def _label(item: Item, name: Callable[[Item], object]) -> str:
    try:
        return str(name(item))[:80]
    except _UNREADABLE:
        return f"a row without a name ({str(item)[:40]!r})"


def _reason(err: Exception) -> str:
    if isinstance(err, FullwarpError):
        return str(err)
    return f"a field is missing or of an unexpected kind ({type(err).__name__}: {err})"[:200]
