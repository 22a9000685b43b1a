"""What a tool answers, and the bounds of it: lists say how long they are in all, texts and the whole are cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson

from data.words import one_line

MOST_ROWS = 50
MOST_TEXT = 200
MOST_BYTES = 24_000
_SIGNIFICANT = 6

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer:
    """`value` is what the model reads, `answer` the core value behind it (for a card), `link` the page that shows the
    same, below the prefix."""

    value: Mapping[str, Any]
    answer: Any = None
    link: str = ""


def listed(rows: Sequence[T], form: Callable[[T], Any], most: int, total: int | None = None) -> dict[str, Any]:
    """The first `most` rows, how many there are in all, and how many of them are left out here."""
    shown = [form(row) for row in rows[: min(most, MOST_ROWS)]]
    whole = len(rows) if total is None else total
    return {"rows_total": whole, "rows_left_out": whole - len(shown), "rows": shown}


def text(words: str | None, most: int = MOST_TEXT) -> str | None:
    """A text of somebody else's on one line, without control characters, cut to `most` with an ellipsis."""
    if words is None:
        return None
    clean = one_line(words)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def texts(words: Iterable[str], most: int = 10) -> list[str | None]:
    return [text(one, 400) for one in list(words)[:most]]


def moment(time: datetime | None) -> str | None:
    """A time as UTC, to the second; None = not known."""
    return None if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def number(value: float | None) -> float | int | None:
    """Six significant digits: more are noise. None = not measured or not known; what is without end is None, too."""
    if value is None or isinstance(value, int) or not math.isfinite(value):
        return value if isinstance(value, int) else None
    if value == 0:
        return 0.0
    return round(value, _SIGNIFICANT - 1 - math.floor(math.log10(abs(value))))


def bounded(value: Mapping[str, Any], most: int = MOST_BYTES) -> Mapping[str, Any]:
    """The value in at most about `most` bytes: rows are left out from the end of the longest lists, and counted."""
    whole = orjson.dumps(value)
    if len(whole) <= most:
        return value
    cut = orjson.loads(whole)
    while len(orjson.dumps(cut)) > most:
        longest = max(_lists(cut), key=lambda one: len(one["rows"]), default=None)
        if longest is None or not longest["rows"]:
            break
        dropped = max(1, len(longest["rows"]) // 4)
        longest["rows"] = longest["rows"][:-dropped]
        longest["rows_left_out"] += dropped
    return cut  # type: ignore[no-any-return]


def _lists(value: Any) -> Iterable[dict[str, Any]]:
    """All lists with a count, in a value that may hold others."""
    if isinstance(value, dict):
        if "rows" in value and "rows_left_out" in value:
            yield value
        for one in value.values():
            yield from _lists(one)
    elif isinstance(value, list):
        for one in value:
            yield from _lists(one)
