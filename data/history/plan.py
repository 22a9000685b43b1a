"""What a pass reads again: a little every time, the overlap every hour, two weeks every night. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from configuration.history import HistorySettings
from data.history.state import CollectorState
from data.slurm.attempts import day_slices

NARROW = timedelta(minutes=15)
_HOURLY = timedelta(hours=1)
_NIGHT_BEGINS = 2
_NEVER_LONGER = timedelta(hours=36)

Slice = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Plan:
    """`slices` of Slurm's records, oldest first, each within one UTC day. `is_wide` and `is_deep` say what is done by
    it, so that it is not done again at once."""

    slices: tuple[Slice, ...]
    is_wide: bool
    is_deep: bool


def plan_of(
    state: CollectorState, settings: HistorySettings, now: datetime, zone: tzinfo, since: datetime | None = None
) -> Plan:
    """Plan a pass up to `now`. `since` = an import from there on, else from the mark, overlapping it.

    The first pass of all reads the overlap; the first night the rest of the nightly span.
    """
    overlap = timedelta(hours=settings.overlap_hours)
    mark = min(state.collected_until or now - overlap, now)
    is_deep = _is_night(state, now, zone)
    is_wide = is_deep or state.wide_at is None or not timedelta(0) <= now - state.wide_at < _HOURLY
    back = timedelta(days=settings.reread_days) if is_deep else overlap if is_wide else NARROW
    begin = mark - back if state.collected_until is not None else now - overlap
    if since is not None:
        begin, is_wide, is_deep = since, since <= mark - overlap, False
    return Plan(tuple(day_slices(begin, now)), is_wide, is_deep)


def _is_night(state: CollectorState, now: datetime, zone: tzinfo) -> bool:
    """Whether this night's span is still to be read; a host that sleeps at night reads it when it is up again."""
    if state.collected_until is None:
        return False
    last = state.deep_at or state.first_at or state.collected_until
    local, before = now.astimezone(zone), last.astimezone(zone)
    if now - last >= _NEVER_LONGER or last > now:
        return True
    return local.date() > before.date() and local.hour >= _NIGHT_BEGINS
