"""Which files of the history can be read: nobody locks, damaged files are named and left out.

A folder is NAME/day=YYYY-MM-DD, a file in it *.parquet; names that begin with a dot are being written. A file may be
replaced while it is read, and vanish after it was listed (parts of a day become one file): who meets that lists again.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from data.history.columns import SCHEMA_VERSION

FOLDER = "day="
_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that cannot be read, and why in words."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class DayFiles:
    """`paths` can be read; `damaged` were left out. Neither = there is no history of these days: use the schema."""

    paths: tuple[Path, ...]
    damaged: tuple[Damaged, ...] = ()


def files(directory: Path, dataset: str, since_day: date | None = None, until_day: date | None = None) -> DayFiles:
    """The files of a dataset ("jobs", "usage", "allocations", "snapshots") from one UTC day to another, both included.

    None = from the first, to the last. Costs one look at a folder per day; footers are read once per file.
    Of a folder that is missing nothing is known: no files, no error. Raises OSError for one that may not be read.
    """
    paths: list[Path] = []
    damaged: list[Damaged] = []
    for day, folder in day_folders(directory, dataset):
        if (since_day is not None and day < since_day) or (until_day is not None and day > until_day):
            continue
        for path in day_files(folder):
            reason = why_unreadable(path)
            if reason is None:
                paths.append(path)
            elif reason:
                damaged.append(Damaged(path, reason))
    return DayFiles(tuple(paths), tuple(damaged))


def day_folders(directory: Path, dataset: str) -> Iterator[tuple[date, Path]]:
    """Folders of a dataset by their day, oldest first; anything else in there is left alone."""
    for name in sorted(_listed(directory / dataset)):
        if name.startswith(FOLDER) and (day := _day(name.removeprefix(FOLDER))) is not None:
            yield day, directory / dataset / name


def day_files(folder: Path) -> list[Path]:
    """The finished files of one day, in the order of their names."""
    return [folder / name for name in sorted(_listed(folder)) if name.endswith(".parquet") and name[0] not in "._"]


def why_unreadable(path: Path) -> str | None:
    """None = its footer is whole and of a version that we know; "" = it is not there any more; else the reason."""
    try:
        found = path.stat()
        key = (str(path), found.st_ino, found.st_mtime_ns, found.st_size)
        with _guard:
            if key in _known:
                _known.move_to_end(key)
                return _known[key]
        reason = _look(path)
    except OSError as err:
        return "" if err.errno in (errno.ENOENT, errno.ESTALE) else f"it cannot be read: {err.strerror or err}"
    with _guard:
        _known[key] = reason
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return reason


_known: OrderedDict[tuple[str, int, int, int], str | None] = OrderedDict()
_guard = threading.Lock()


def _look(path: Path) -> str | None:
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as err:
        return f"it is damaged or half written: {str(err).splitlines()[0][:160]}"
    version = (schema.metadata or {}).get(b"fullwarp_schema_version", b"").decode(errors="replace")
    if not version.isdigit():
        return "it is not of this history: no fullwarp_schema_version in it"
    if int(version) > SCHEMA_VERSION:
        return f"a newer version wrote it (form {version}, known up to {SCHEMA_VERSION}): upgrade Fullwarp here"
    return None


def _listed(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
