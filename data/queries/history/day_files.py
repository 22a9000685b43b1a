"""The files of a dataset that can matter to a range, with what their footers say."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data.history.files import Damaged, DayFiles, files
from data.history.footers import Footer, Identity, footer

# Files whose rows turned out to be damaged, for as long as they stay the same.
_UNREADABLE: dict[Identity, str] = {}


@dataclass(frozen=True)
class Found:
    """The files of a dataset, with what their footers say."""

    dataset: str
    files: DayFiles
    footers: tuple[Footer, ...]

    def where(self, keep: Iterable[bool]) -> Found:
        chosen = [number for number, is_kept in enumerate(keep) if is_kept]
        paths = tuple(self.files.paths[number] for number in chosen)
        footers = tuple(self.footers[number] for number in chosen)
        return replace(self, files=replace(self.files, paths=paths), footers=footers)

    @property
    def days(self) -> list[date]:
        return [day_of(path) for path in self.files.paths]


def day_of(path: Path) -> date:
    return date.fromisoformat(path.parent.name.partition("=")[2])


def found_in(directory: Path, dataset: str, since: datetime, until: datetime) -> Found:
    """The files of these days, without those that are known to be damaged."""
    listed = files(directory, dataset, since.date(), until.date())
    footers = {path: footer(path) for path in listed.paths}
    damaged = [Damaged(path, _UNREADABLE[one.identity]) for path, one in footers.items() if one.identity in _UNREADABLE]
    left_out = {one.path for one in damaged}
    paths = tuple(path for path in listed.paths if path not in left_out)
    return Found(dataset, DayFiles(paths, (*listed.damaged, *damaged)), tuple(footers[path] for path in paths))


def leave_out_damaged(found: Found) -> None:
    """Read every file whole, and leave out from now on those that cannot be read: a footer may be whole where the rows
    are not. Costs as much as it sounds."""
    for path, one in zip(found.files.paths, found.footers, strict=True):
        try:
            pq.ParquetFile(path, page_checksum_verification=True).read()
        except (pa.ArrowException, OSError, ValueError) as err:
            _UNREADABLE[one.identity] = f"it is damaged: {(str(err).splitlines() or [''])[0][:160]}"


def by_form(found: Found) -> list[Found]:
    """Files with the same columns apart: one look at a footer is enough for each."""
    forms = dict.fromkeys(one.form for one in found.footers)
    return [found.where(one.form == form for one in found.footers) for form in forms]


def shares_its_day(paths: Sequence[Path]) -> list[bool]:
    """Which of them lie in one folder with others."""
    count = Counter(path.parent for path in paths)
    return [count[path.parent] > 1 for path in paths]


class Twins:
    """Which sets of files hold a key twice."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Identity, ...], bool] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, found: Found, look: Callable[[], bool]) -> bool:
        key = tuple(one.identity for one in found.footers)
        with self._guard:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        answer = look()
        with self._guard:
            self._known[key] = answer
            while len(self._known) > 64:
                self._known.popitem(last=False)
        return answer
