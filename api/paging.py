"""One part of a list, and how to get the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
MOST_ROWS = 1000
FAREST = 1_000_000


@dataclass(frozen=True, slots=True)
class Page:
    """Rows `offset` to `offset + limit` of `total`. `next` is the address of the next page; None on the last."""

    limit: int
    offset: int
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Paged(Generic[T]):
    """An answer whose rows are those of one page."""

    answer: T
    page: Page


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """An answer with the rows of one page, and how many rows there are in all."""

    answer: T
    total: int


def cut(rows: Sequence[T], limit: int, offset: int) -> tuple[T, ...]:
    """The rows of one page."""
    return tuple(rows[offset : offset + limit])
