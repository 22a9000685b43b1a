"""How the history is, for Health: when it was last collected, what was found, which files are damaged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from data.history.datasets import DATASETS
from data.history.files import Damaged, day_folders, files
from data.history.state import CollectorState, read_states
from data.history.store import set_aside


@dataclass(frozen=True, slots=True)
class HistoryCondition:
    """`collectors` are what each cluster's collector remembers, with the numbers of its last pass in `last`.

    `damaged` files are left out by readers, `set_aside` were moved away when their day was written to. `days` is the
    number of days of each dataset, `first_day` the oldest day of any.
    """

    collectors: tuple[CollectorState, ...]
    damaged: tuple[Damaged, ...]
    set_aside: tuple[Damaged, ...]
    days: dict[str, int]
    first_day: date | None

    @property
    def passed_at(self) -> datetime | None:
        """When a collector last came to its end; None = never."""
        return max((state.passed_at for state in self.collectors if state.passed_at), default=None)

    @property
    def is_empty(self) -> bool:
        return not any(self.days.values())


def history_condition(directory: Path) -> HistoryCondition:
    """Look at the folder. Costs a look at every day's folder, and a footer per new file. Raises OSError for a folder
    that may not be read."""
    found = [files(directory, name) for name in DATASETS]
    days = {name: [day for day, _ in day_folders(directory, name)] for name in DATASETS}
    return HistoryCondition(
        collectors=read_states(directory),
        damaged=tuple(one for part in found for one in part.damaged),
        set_aside=set_aside(directory),
        days={name: len(some) for name, some in days.items()},
        first_day=min((day for some in days.values() for day in some), default=None),
    )
