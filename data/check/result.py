"""One statement about the installation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"  # works, and could be better
    PROBLEM = "problem"  # something will be wrong or absent on screen
    UNKNOWN = "unknown"  # could not be looked at, because something before it failed


@dataclass(frozen=True, slots=True)
class Check:
    """`text` in plain words; `fix` the lines that a person types, in order, with where they belong."""

    subject: str
    verdict: Verdict
    text: str
    fix: tuple[str, ...] = ()


def not_carried(setting: str, label: str) -> tuple[str, ...]:
    """The lines for a label that a setting names and no series has."""
    return (
        f"no series carries the label {label} that metrics.{setting} names",
        f"in fullwarp.toml, under [metrics]: take {setting} away (the exporter's own is found), or name another",
    )


def some(names: Iterable[str], limit: int = 3) -> str:
    """The first few names in order, and how many more there are."""
    ordered = sorted(names)
    rest = len(ordered) - limit
    return ", ".join(ordered[:limit]) + (f" and {rest} more" if rest > 0 else "")
