"""Reads the arguments of tool calls, as models and servers write them. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

from chat.characters import whole_within

MOST_ARGUMENTS = 100_000  # characters
_DEEPEST = 20
_SPACE: Final = re.compile(r"\s*")


def read_arguments(text: str, given: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """The arguments as an object: {} for blank or null; None where they cannot be read, or are longer or deeper than
    any tool's. JSON inside of JSON text and raw control characters are taken, as some servers send them, and an object
    that comes several times, or after an empty one, is taken once."""
    try:
        found = whole_within(dict(given) if given is not None else _one_of(text), _DEEPEST)
    except (ValueError, RecursionError):
        return None
    return {} if found is None else found if isinstance(found, dict) else None


def documents(text: str) -> Iterator[Any]:
    """The JSON documents of a text that holds nothing else. Raises ValueError, also for numbers that are none."""
    if len(text) > MOST_ARGUMENTS:
        raise ValueError("too long")
    place = _after_space(text, 0)
    while place < len(text):
        found, end = _DECODER.raw_decode(text, place)
        yield found
        place = _after_space(text, end)


def _one_of(text: str) -> Any:
    found = [_unpacked(document) for document in documents(text)]
    kept = [document for document in found if document not in ({}, None)]
    if any(document != kept[0] for document in kept):
        raise ValueError("several objects")
    return kept[0] if kept else {}


def _unpacked(document: Any) -> Any:
    return next(documents(document), {}) if isinstance(document, str) else document


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(digits: str) -> float:
    """1e999 is beyond all numbers, too."""
    value = float(digits)
    return value if math.isfinite(value) else _refuse(digits)


_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_refuse, parse_float=_finite)
