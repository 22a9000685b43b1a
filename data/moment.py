"""A moment as people write it: `now`, `-2h`, `yesterday 14:00`, a date, ISO 8601 with or without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from data.errors import BadRequest

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
RELATIVE = re.compile(r"-\s*(\d{1,9}(?:\.\d{1,6})?)\s*(s|min|m|h|d|w)", re.ASCII)
DAY_AND_CLOCK = re.compile(r"(today|yesterday)(?:[ T](\d{1,2}):(\d{2}))?", re.ASCII)
DATE = re.compile(r"\d{4}-?\d{2}-?\d{2}", re.ASCII)
END_FORMS = "Use a date (2026-12-24), an ISO time (2026-12-24T18:00), or a distance such as 14d or 6h."
FORMS = "Use an ISO time (2026-03-01T14:00), a date, today 09:00, yesterday, or a distance such as -2h, -30m, -7d."


def parse_moment(text: str, now: datetime, zone: tzinfo = UTC) -> datetime | None:
    """The aware UTC time that `text` means, None for now. A time without a zone is one of `zone`.

    Raises BadRequest for a text that means nothing, and for a time in the future or before 2000.
    """
    words = text.strip().lower()
    if words in {"", "now"}:
        return None
    try:
        moment = _relative(words, now) or _calendar(words, now.astimezone(zone)) or _iso(words.upper(), zone)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as err:
        raise BadRequest(f"{text[:60]!r} is not a time", hint=FORMS) from err
    if moment > now:
        raise BadRequest(f"{text[:60]!r} is in the future: {moment:%Y-%m-%d %H:%M} UTC", hint=FORMS)
    if moment.year < 2000:
        raise BadRequest(f"{text[:60]!r} is too long ago: {moment.date().isoformat()}", hint=FORMS)
    return moment


def parse_edge(name: str, text: str, now: datetime, zone: tzinfo = UTC) -> datetime:
    """An end of a range: as `parse_moment`, a bare distance (30d) counts back too, and nothing is now.

    Raises the same, with `name` before it.
    """
    words = text.strip()
    if RELATIVE.fullmatch(f"-{words.lower()}"):
        words = f"-{words}"
    try:
        return parse_moment(words, now, zone) or now.astimezone(UTC)
    except BadRequest as err:
        raise BadRequest(f"{name}: {err}", hint=err.hint) from err


def parse_end(name: str, text: str, now: datetime, zone: tzinfo = UTC) -> datetime:
    """A time to come: a bare distance (14d, 6h) counts from now, a date without a clock is its end.

    Raises BadRequest, with `name` before it, for a text that means nothing and for a time that has passed.
    """
    words = text.strip()
    try:
        distance = _relative(f"-{words.lower()}", now)
        moment = now + (now - distance) if distance is not None else _end_of(words, zone)
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError) as err:
        raise BadRequest(f"{name}: {words[:60]!r} is not a time to come", hint=END_FORMS) from err
    if moment <= now:
        raise BadRequest(f"{name}: {words[:60]!r} has passed: {moment:%Y-%m-%d %H:%M} UTC", hint=END_FORMS)
    return moment


def _end_of(words: str, zone: tzinfo) -> datetime:
    moment = _iso(words.upper(), zone)
    return moment + timedelta(days=1) if DATE.fullmatch(words) else moment


def _relative(words: str, now: datetime) -> datetime | None:
    match = RELATIVE.fullmatch(words)
    return now - timedelta(seconds=float(match[1]) * UNITS[match[2]]) if match else None


def _calendar(words: str, local_now: datetime) -> datetime | None:
    match = DAY_AND_CLOCK.fullmatch(words)
    if not match:
        return None
    day = local_now.replace(hour=int(match[2] or 0), minute=int(match[3] or 0), second=0, microsecond=0)
    return day - timedelta(days=1) if match[1] == "yesterday" else day


def _iso(words: str, zone: tzinfo) -> datetime:
    moment = datetime.fromisoformat(words)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
