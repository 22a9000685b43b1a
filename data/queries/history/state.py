"""What an answer from history stands on, in words and dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from data.history.demo.note import progress_words
from data.history.state import read_states
from data.model import Viewer
from data.queries.history.model import HistoryState
from data.queries.history.reading import Reading

BY_NODE = "Of nodes only GPU-hours are known: other columns are empty, and jobs without GPUs are not counted."
NO_NODE = "Under (none) are jobs on several nodes that ended before the collector first saw which GPUs they held."


def state_of(viewer: Viewer, reading: Reading, *, by_node: bool = False) -> HistoryState:
    """The days of which there are hours, when the newest row was written, and what was left out."""
    days = [*reading.usage.days, *reading.jobs.days]
    inside = [day for day in days if reading.span.since.date() <= day <= reading.span.until.date()]
    written = [one.last_collected for one in reading.usage.footers if one.last_collected is not None]
    damaged = tuple(f"{one.path}: {one.reason}" for one in reading.damaged)
    return HistoryState(
        first=min(inside, default=None),
        last=max(inside, default=None),
        collected_at=max(written, default=None),
        damaged_files=len(damaged),
        damaged=damaged if viewer.is_staff else (),
        notes=(*_notes(reading, inside, len(damaged)), *([BY_NODE] if by_node and inside else [])),
    )


def _importing(reading: Reading) -> str | None:
    """That days of the range are still to be read from Slurm, in words."""
    for one in (state.importing for state in read_states(reading.directory)):
        if one is not None and one.day <= reading.span.until.date() and one.last >= reading.span.since.date():
            done, days = (one.day - one.first).days, (one.last - one.first).days + 1
            return f"Slurm's records since {one.first} are being read: {done} of {days} days so far, the oldest first."
    return None


def _notes(reading: Reading, days: Sequence[date], damaged: int) -> tuple[str, ...]:
    notes = []
    under_way = progress_words(reading.directory, reading.span.since.date()) or _importing(reading)
    if under_way is not None:
        notes.append(under_way)
    elif not days:
        notes.append("There is no history of these days. Run `fullwarp collect` to have it.")
    elif min(days) > reading.span.since.date():
        notes.append(f"History begins on {min(days)}: what ran before in the range is not in the numbers.")
    if damaged:
        notes.append(f"{damaged} damaged file{'' if damaged == 1 else 's'} of history left out: see Health.")
    return tuple(notes)
