"""What of the demo's history is made: a small file beside the datasets, also for whoever only reads them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

MADE = "demo-days.json"


@dataclass(frozen=True, slots=True)
class Made:
    """`until` by day: up to when its rows were made (its end, or the moment at which it was today); `days` in all."""

    until: dict[date, datetime]
    days: int

    def is_whole(self, day: date) -> bool:
        return self.until.get(day, start_of(day)) >= start_of(day) + timedelta(days=1)


def start_of(day: date) -> datetime:
    """Midnight UTC at which the day begins."""
    return datetime.combine(day, time(), UTC)


def read_made(directory: Path) -> Made:
    """What was made so far; nothing where the note is missing or cannot be read."""
    try:
        found = json.loads((directory / MADE).read_text(encoding="utf-8"))
        until = {date.fromisoformat(day): datetime.fromisoformat(at) for day, at in found["until"].items()}
        return Made(until, int(found["days"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Made({}, 0)


def announce(directory: Path, days: int) -> None:
    """Say that `days` days will be made, where nothing is said yet: also before the first one is there."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o750)
    with suppress(FileExistsError), (directory / MADE).open("x", encoding="utf-8") as note:
        note.write(made_text({}, days))


def made_text(until: dict[date, datetime], days: int) -> str:
    """The note."""
    return json.dumps({"days": days, "until": {one.isoformat(): at.isoformat() for one, at in sorted(until.items())}})


def progress_words(directory: Path, since: date) -> str | None:
    """That the days from `since` on are still being added up, in words; None when they are there, or no demo's."""
    made = read_made(directory)
    count = len(made.until)
    if not made.days or count >= made.days or min(made.until, default=date.max) <= since:
        return None
    return f"The demo's history is being added up: {count} of {made.days} days so far."
