"""History in words: ranges, changes against the time before, money."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from data.queries.history import ReportRow, Standing
from data.words import MINUS, duration, number, percent

WEEKDAYS = tuple(calendar.day_name)
_UP, _DOWN, _SAME = "\u2191", "\u2193", "\u2192"
_SMALLEST_CHANGE = 0.0005


def range_words(since: datetime, until: datetime, zone: tzinfo) -> str:
    """ "30 Oct – 29 Nov 2026"; with clock times when it is shorter than two days; whole days end with the last one."""
    first, end = since.astimezone(zone), until.astimezone(zone)
    if end - first < timedelta(days=2):
        days = f"{day_words(first)} {first:%H:%M} – "
        return days + ("" if end.date() == first.date() else f"{day_words(end)} ") + f"{end:%H:%M}"
    last = end - timedelta(microseconds=1)
    year = "" if first.year == last.year else f" {first.year}"
    return f"{day_words(first)}{year} – {day_words(last)} {last.year}"


def day_words(day: datetime) -> str:
    """ "3 Nov"."""
    return f"{day.day} {day:%b}"


def length_words(length: timedelta) -> str:
    """ "30 d", "24 h"."""
    hours = length.total_seconds() / 3600
    return f"{number(hours)} h" if hours <= 24 else duration(length.total_seconds())


def hours_words(hours: float | None) -> str:
    """GPU-hours without a unit; one decimal under 100."""
    return number(hours, 1 if hours is not None and 0 < abs(hours) < 99.95 else 0)


def amount_change(row: ReportRow, name: str) -> str:
    """ "↑ 4.2 % from 190 415"; "" where either time is not known."""
    before, now = _both(row, name)
    if before is None or now is None:
        return ""
    if before == 0:
        return f"{_UP} from 0" if now else f"{_SAME} as before"
    change = (now - before) / abs(before)
    if abs(change) < _SMALLEST_CHANGE:
        return f"{_SAME} as before"
    size = percent(abs(change)) if abs(change) < 10 else f"{number(now / before)} times"
    return f"{_UP if change > 0 else _DOWN} {size} from {hours_words(before)}"


def ratio_change(row: ReportRow, name: str) -> str:
    """ "↓ 1.9 points from 13.7 %"; "" where either time is not known."""
    before, now = _both(row, name)
    return "" if before is None or now is None else _points(now - before, before)


def share_change(row: ReportRow, part: str, whole: str = "gpu_hours_allocated") -> float | None:
    """By how much the share of a part has grown (ratio, a difference of shares); None where it is not known."""
    parts, wholes = _both(row, part), _both(row, whole)
    if None in parts or not wholes[0] or not wholes[1]:
        return None
    return (parts[1] or 0.0) / wholes[1] - (parts[0] or 0.0) / wholes[0]


def signed_points(change: float | None) -> str:
    """ "+6.4" with a plus or a real minus; a dash for what is not known."""
    if change is None:
        return "–"
    text = number(abs(change) * 100, 1)
    return text if text == "0.0" else ("+" if change > 0 else MINUS) + text


def money(amount: float | None, currency: str) -> str:
    """ "EUR 248 015"; cents under 100."""
    return f"{currency} {number(amount, 2 if amount is not None and 0 < amount < 99.5 else 0)}"


def standing_words(standing: Standing, whose: str) -> tuple[str, str]:
    """Place among peers as a title and a line below it; nobody is named."""
    if standing.utilization is None:
        return "Not ranked", "Too little of these GPU-hours was measured."
    if standing.rank is None or standing.of < 2:
        return "Not ranked", "Too few people have enough measured GPU-hours to compare with."
    peers = f"the median of {number(standing.of)} people is {percent(standing.median)}"
    return (
        f"{number(standing.rank)} of {number(standing.of)}",
        f"{whose} mean UTIL is {percent(standing.utilization)}; {peers}.",
    )


def listed(words: Sequence[str], most: int = 3) -> str:
    """ "a, b and 4 more"."""
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most} more"


def _both(row: ReportRow, name: str) -> tuple[float | None, float | None]:
    return (None if row.previous is None else row.previous.get(name)), row.value(name)


def _points(change: float, before: float) -> str:
    if abs(change) < _SMALLEST_CHANGE:
        return f"{_SAME} as before"
    return f"{_UP if change > 0 else _DOWN} {number(abs(change) * 100, 1)} points from {number(before * 100, 1)} %"
