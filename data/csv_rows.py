"""Rows as CSV: the one place that knows what a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import datetime

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_of(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The rows below their head; None is empty, times are ISO 8601."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows([_safe(value) for value in row] for row in rows)
    return out.getvalue()


def _safe(value: object) -> object:
    """A name that a spreadsheet would run as a formula gets an apostrophe before it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
