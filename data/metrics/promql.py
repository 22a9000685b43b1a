"""PromQL text, with everything that comes from outside escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from data.errors import SettingsError

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def quoted(text: str) -> str:
    """A string literal: no value can end it or add a matcher."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def equal(label: str, value: str) -> str:
    return f"{label}={quoted(value)}"


def any_of(label: str, values: Iterable[str], before: str = "", after: str = "") -> str:
    """A matcher for exactly these values; `before` and `after` are patterns that may surround them."""
    options = "|".join(sorted(map(re.escape, values)))
    return f"{label}=~{quoted(f'{before}({options}){after}')}"


def named(names: Iterable[str]) -> str:
    """A matcher for these series names; names in an alternation of literals stay an index look-up."""
    return f"__name__=~{quoted('|'.join(sorted(set(names))))}"


def selector(matchers: Iterable[str]) -> str:
    return "{" + ",".join(filter(None, matchers)) + "}"


def label_name(text: str, field: str) -> str:
    """A label name from the settings; SettingsError when it can be none."""
    if not _LABEL.fullmatch(text):
        raise SettingsError(f"metrics.{field} is {text!r}, which is no label name (letters, digits, underscore)")
    return text


def series_name(text: str, field: str) -> str:
    """A series name from the settings; SettingsError when it can be none."""
    if not _NAME.fullmatch(text):
        raise SettingsError(f"metrics.{field} is {text!r}, which is no series name (letters, digits, _ and :)")
    return text


def milliseconds(seconds: float) -> str:
    """A duration literal, exact to the millisecond and at least one."""
    return f"{max(1, round(seconds * 1000))}ms"
