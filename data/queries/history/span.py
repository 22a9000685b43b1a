"""The range of a question."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from data.queries.history.edges import first_whole_hour, last_whole_hour


@dataclass(frozen=True)
class Range:
    """[since, until), and the whole hours in it [first_hour, end_hour)."""

    since: datetime
    until: datetime
    first_hour: datetime
    end_hour: datetime


def range_of(since: datetime, until: datetime) -> Range:
    first, end = first_whole_hour(since.astimezone(UTC)), last_whole_hour(until.astimezone(UTC))
    return Range(since.astimezone(UTC), until.astimezone(UTC), first, max(first, end))
