"""How a source is doing, in values that a page can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class SourceCondition(StrEnum):
    OK = "ok"
    STALE = "stale"  # failing now; the last good part is still shown with its age
    DOWN = "down"  # failing, and nothing good is left to show
    UNKNOWN = "unknown"  # not asked yet


@dataclass(frozen=True, slots=True)
class SourceState:
    """One source as seen by the last refreshes. `error` and `address` are for staff only; `next_try` is set while it
    fails."""

    name: str
    kind: str
    condition: SourceCondition
    last_success: datetime | None = None
    failing_since: datetime | None = None
    latency_seconds: float | None = None
    version: str | None = None
    address: str | None = None
    error: str | None = None
    hint: str | None = None
    broken_rows: int = 0
    broken_examples: tuple[str, ...] = ()
    dropped_values: Mapping[str, int] = field(default_factory=dict)
    dialects: tuple[str, ...] = ()
    missing_metrics: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    next_try: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """What a source says of itself when asked directly (`fullwarp check`, Health)."""

    reachable: bool
    version: str | None = None
    latency_seconds: float | None = None
    dialects: tuple[str, ...] = ()
    interval_seconds: float | None = None
    missing_metrics: tuple[str, ...] = ()
    cluster_labels: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """Rows read from a source, with those that could not be read counted and the first few named."""

    rows: tuple[T, ...]
    broken: int = 0
    broken_examples: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
