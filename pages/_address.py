"""What the addresses of pages have in common: a text, a choice, a number, a moment; what is wrong is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from components.elements import ANY
from data.errors import BadRequest
from data.moment import parse_moment

MAX_TEXT = 100


def text_of(query: Mapping[str, str], key: str, most: int = MAX_TEXT) -> str:
    """The trimmed text of at most `most` characters, "" for none and for "any"."""
    text = str(query.get(key) or "").strip()[:most]
    return "" if text == ANY else text


def choice_of(query: Mapping[str, str], key: str, known: Iterable[str], default: str, ignored: list[str]) -> str:
    """One of the known words; anything else is named in `ignored`."""
    value, words = text_of(query, key), list(known)
    if value in words or not value:
        return value or default
    ignored.append(f"{key} = “{value[:40]}” is none of {', '.join(words)}.")
    return default


def number_of(query: Mapping[str, str], key: str, ignored: list[str], most: int = 10_000_000) -> int:
    """A whole number from 0 to `most`, 0 for none."""
    value = text_of(query, key)
    if not value or (value.isascii() and value.isdigit() and len(value) < 9 and int(value) <= most):
        return int(value or 0)
    ignored.append(f"{key} = “{value[:40]}” is no number from 0 to {most}.")
    return 0


def moment_of(query: Mapping[str, str], now: datetime, zone: str, ignored: list[str]) -> datetime | None:
    """The past moment of `at`; None for now."""
    try:
        return parse_moment(text_of(query, "at"), now, ZoneInfo(zone))
    except BadRequest as err:
        ignored.append(f"at: {err}. {err.hint}")
        return None
