"""What Health says of the kept history: its last pass, what that left out, and which files are damaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from data.history.state import PassNumbers
from data.model import Viewer
from data.sources import Sources

if TYPE_CHECKING:
    from data.history.condition import HistoryCondition
    from data.history.files import Damaged

_ADDED = ("ended", "written", "running", "runaway", "unmeasured", "apportioned", "moved", "broken")


@dataclass(frozen=True, slots=True)
class HistoryHealth:
    """`last` adds up the last pass of every collector; `passed_at` None = none has come to its end.

    `damaged` and `set_aside` count files that no report reads, `days` those of jobs; None = the folder may not be read,
    and `error` says why. Paths, errors and examples of rows are for staff only. `is_made`: the demo's, not collected.
    """

    passed_at: datetime | None = None
    days: int | None = None
    first_day: date | None = None
    damaged: int | None = None
    set_aside: int | None = None
    last: PassNumbers = field(default_factory=PassNumbers)
    files: tuple[Damaged, ...] = ()
    error: str = ""
    is_made: bool = False


def history_health(viewer: Viewer, sources: Sources) -> HistoryHealth | None:
    """Answer how the history is; None = none is kept. Looks at the folder once per half minute, however many ask."""
    directory = sources.settings.history.directory
    if directory is None:
        return None
    is_made = sources.demo_history is not None
    found = sources.recent.get("history health", lambda: replace(_looked_at(directory), is_made=is_made))
    return found if viewer.is_staff else _for_everyone(found)


def _looked_at(directory: Path) -> HistoryHealth:
    from data.history.condition import history_condition

    try:
        found = history_condition(directory)
    except OSError as err:
        return HistoryHealth(error=f"history.directory: {directory} cannot be read: {err.strerror or err}")
    return HistoryHealth(
        passed_at=found.passed_at,
        days=found.days["jobs"],
        first_day=found.first_day,
        damaged=len(found.damaged),
        set_aside=len(found.set_aside),
        last=_added(found),
        files=(*found.damaged, *found.set_aside),
    )


def _added(found: HistoryCondition) -> PassNumbers:
    passes = [state.last for state in found.collectors]
    return PassNumbers(
        **{name: sum(getattr(one, name) for one in passes) for name in _ADDED},
        broken_examples=_all(one.broken_examples for one in passes),
        dropped=sum((Counter(one.dropped) for one in passes), Counter()),
        flagged=sum((Counter(one.flagged) for one in passes), Counter()),
        missing=_all(one.missing for one in passes),
        warnings=_all(one.warnings for one in passes),
        error="; ".join(one.error for one in passes if one.error),
    )


def _all(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for part in parts for text in part))


def _for_everyone(found: HistoryHealth) -> HistoryHealth:
    last = replace(found.last, broken_examples=(), warnings=(), error="")
    return replace(found, last=last, files=(), error="")
