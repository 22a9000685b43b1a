"""Write the history: rows merged by key into the files of their days, under one lease, each file replaced whole.

A row is never in fewer than one file: it is written where it belongs before it leaves where it was. Until then two
rows have one key, and readers take the newest.
"""

from __future__ import annotations

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.errors import FullwarpError, SettingsError
from data.history.atomic import Reached, remove_file, remove_leftovers, replace_file
from data.history.datasets import DATASETS, Dataset
from data.history.encoding import encoding
from data.history.files import FOLDER, Damaged, day_files, day_folders, why_unreadable
from data.history.lease import Lease
from data.history.tables import (
    aligned,
    by_part,
    keys_of,
    newest_of,
    says_the_same,
    schema_part,
    with_keys,
    without_keys,
)

DAMAGED = "damaged"
ROWS = "rows"
_MARK = b"fullwarp_changed"


class HistoryStore:
    """The right to write to a folder of history. `reached` hears of each side effect by name."""

    def __init__(self, directory: Path, lease: Lease, reached: Reached) -> None:
        self.directory, self._lease, self.reached = directory, lease, reached

    def put(self, name: str, rows: pa.Table) -> int:
        """Merge rows by key into their days' files and give how many files changed.

        Each row replaces the one with its key in that day, wherever it is there. Files of which nothing changes are
        left as they are. A damaged file is set aside first.
        """
        dataset, by_day = DATASETS[name], defaultdict[date, dict[str, pa.Table]](dict)
        for (day, part), found in by_part(dataset, rows).items():
            by_day[day][part] = found
        return sum(self._put_day(dataset, day, parts) for day, parts in by_day.items())

    def replace_day(self, name: str, day: date, rows: pa.Table) -> None:
        """Make these rows all that there is of a day."""
        dataset, folder = DATASETS[name], self._folder(name, day)
        whole = folder / f"{ROWS}.parquet"
        self._write(dataset, whole, newest_of(dataset, rows))
        for path in day_files(folder):
            if path != whole:
                remove_file(path, self.reached, f"{name} part")

    def drop(self, name: str, day: date, keys: pa.Array) -> int:
        """Take the rows with these keys out of a day (they were written to another) and give how many files changed."""
        return self._drop(DATASETS[name], self._folder(name, day), keys)

    def change(self, name: str, day: date, change: Callable[[pa.Table], pa.Table], mark: str = "") -> int:
        """Replace each file of a day by what `change` makes of it, and give how many changed.

        One that stays the same is left alone, and so is one that already bears the `mark` of this change, which goes
        away when rows are written to it.
        """
        dataset, changed = DATASETS[name], 0
        for path in day_files(self._folder(name, day)):
            if mark and why_unreadable(path) is None and _mark_of(path) == mark:
                continue
            old = self._read(dataset, path)
            new = None if old is None else change(old)
            if new is not None and (mark or not new.equals(old)):
                self._write(dataset, path, _marked(new, mark))
                changed += 1
        return changed

    def compact(self, name: str, day: date) -> bool:
        """Make one file of a day's parts; whether there was anything to do."""
        dataset, folder = DATASETS[name], self._folder(name, day)
        remove_leftovers(folder)
        whole = folder / f"{ROWS}.parquet"
        parts = [path for path in day_files(folder) if path != whole]
        if not parts:
            return False
        found = {path: table for path in [*parts, whole] if (table := self._read(dataset, path)) is not None}
        if not any(path in found for path in parts):
            return False
        self._write(dataset, whole, newest_of(dataset, pa.concat_tables(found.values())))
        for path in parts:
            if path in found:
                remove_file(path, self.reached, f"{name} part")
        return True

    def remove_day(self, name: str, day: date) -> None:
        """Remove all of a day, damaged files too."""
        folder = self._folder(name, day)
        remove_leftovers(folder)
        for path in day_files(folder):
            self._lease.require()
            remove_file(path, self.reached, f"{name} day")

    def days(self, name: str) -> list[date]:
        return [day for day, _ in day_folders(self.directory, name)]

    def read(
        self, name: str, day: date, columns: Sequence[str] | None = None, job_ids: pa.Array | None = None
    ) -> pa.Table:
        """Rows of a day as they are in its files (a key may be there twice), all or those of some raw job ids.

        A damaged file is set aside.
        """
        dataset = DATASETS[name]
        wanted = None if job_ids is None else pc.is_in(pc.field("job_id"), value_set=job_ids)
        tables = [self._read(dataset, path, columns, wanted) for path in day_files(self._folder(name, day))]
        schema = schema_part(dataset, columns)
        return pa.concat_tables([schema.empty_table(), *(table for table in tables if table is not None)])

    def write_text(self, path: Path, text: str, name: str) -> None:
        """Replace a small file beside the datasets."""
        self._lease.require()
        with _explained(path):
            replace_file(path, lambda beside: _write_private(beside, text), self.reached, name)

    def _put_day(self, dataset: Dataset, day: date, parts: Mapping[str, pa.Table]) -> int:
        """A day that is one file already stays one: then a crash may have left parts of it, with older rows."""
        folder = self._folder(dataset.name, day)
        remove_leftovers(folder)
        whole = folder / f"{ROWS}.parquet"
        if "" not in parts and not whole.exists():
            return sum(self._merge(dataset, folder / f"{ROWS}-{part}.parquet", rows) for part, rows in parts.items())
        rows = pa.concat_tables(parts.values())
        return self._merge(dataset, whole, rows) + self._drop(dataset, folder, keys_of(dataset, rows), but=whole)

    def _merge(self, dataset: Dataset, path: Path, rows: pa.Table) -> int:
        rows = newest_of(dataset, rows)
        keys = keys_of(dataset, rows)
        old = self._read(dataset, path)
        if old is not None and says_the_same(with_keys(dataset, old, keys), rows):
            return 0
        kept = [] if old is None else [without_keys(dataset, old, keys)]
        self._write(dataset, path, newest_of(dataset, pa.concat_tables([*kept, rows])))
        return 1

    def _drop(self, dataset: Dataset, folder: Path, keys: pa.Array, but: Path | None = None) -> int:
        changed = 0
        for path in day_files(folder):
            old = None if path == but else self._read(dataset, path)
            if old is None:
                continue
            left = without_keys(dataset, old, keys)
            if left.num_rows == old.num_rows:
                continue
            changed += 1
            if left.num_rows:
                self._write(dataset, path, left)
            else:
                self._lease.require()
                remove_file(path, self.reached, f"{dataset.name} emptied")
        return changed

    def _read(
        self,
        dataset: Dataset,
        path: Path,
        columns: Sequence[str] | None = None,
        wanted: pc.Expression | None = None,
    ) -> pa.Table | None:
        """A file in today's form; None when there is none, or it is damaged and was therefore set aside."""
        if not path.exists():
            return None
        reason = why_unreadable(path)
        if reason is not None and "newer version" in reason:
            raise FullwarpError(f"{path}: {reason}", hint="Nothing was written.")
        try:
            if not reason:
                found = pq.ParquetFile(path, page_checksum_verification=True).read(columns and list(columns))
                return aligned(dataset, found if wanted is None else found.filter(wanted), columns)
        except (pa.ArrowException, OSError, ValueError) as err:
            if isinstance(err, OSError) and err.errno in (errno.EACCES, errno.EPERM):
                raise SettingsError(f"{path} may not be read by this user") from err
        self._set_aside(path)
        return None

    def _set_aside(self, path: Path) -> None:
        """Keep a damaged file where no reader meets it; Health names it until somebody removes it."""
        self._lease.require()
        folder = self.directory / DAMAGED
        folder.mkdir(exist_ok=True, mode=0o750)
        dataset, day = path.parent.parent.name, path.parent.name
        self.reached("damaged: to be set aside")
        path.rename(folder / f"{dataset}.{day}.{datetime.now(UTC):%Y%m%dT%H%M%S%f}.{path.name}")
        self.reached("damaged: set aside")

    def _write(self, dataset: Dataset, path: Path, table: pa.Table) -> None:
        self._lease.require()
        write = partial(pq.write_table, table.combine_chunks(), **encoding(dataset))
        with _explained(path):
            replace_file(path, write, self.reached, dataset.name)

    def _folder(self, name: str, day: date) -> Path:
        return self.directory / name / f"{FOLDER}{day.isoformat()}"


def _mark_of(path: Path) -> str:
    return str((pq.read_schema(path).metadata or {}).get(_MARK, b"").decode(errors="replace"))


def _marked(table: pa.Table, mark: str) -> pa.Table:
    return table.replace_schema_metadata({**table.schema.metadata, _MARK: mark.encode()}) if mark else table


@contextmanager
def writing(
    directory: Path, *, wait_seconds: float = 0.0, reached: Reached = lambda step: None
) -> Iterator[HistoryStore]:
    """Hold the lease of a folder of history, which is made where it is missing.

    Raises HeldByAnother while another writes, SettingsError for a folder that is not this user's.
    """
    _own_folder(directory)
    lease = Lease(directory)
    try:
        lease.take(wait_seconds)
    except OSError as err:
        raise SettingsError(f"history.directory: {directory} cannot be written to: {err.strerror or err}") from err
    try:
        yield HistoryStore(directory, lease, reached)
    finally:
        lease.release()


def set_aside(directory: Path) -> tuple[Damaged, ...]:
    """The damaged files that a writer has moved away, for Health."""
    try:
        found = sorted((directory / DAMAGED).iterdir())
    except OSError:
        return ()
    return tuple(
        Damaged(path, "it was damaged and is not read; remove it when it is no longer wanted") for path in found
    )


def _own_folder(directory: Path) -> None:
    """Two users who write by turns would lock each other out."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o750)
        owner = directory.stat().st_uid
    except OSError as err:
        raise SettingsError(
            f"history.directory: {directory} cannot be made: {err.strerror or err}",
            hint="Make it, and give it to the user that collects.",
        ) from err
    if owner != os.geteuid():
        raise SettingsError(
            f"history.directory: {directory} belongs to user id {owner}, and this is {os.geteuid()}",
            hint="Run this as the user that collects, such as: sudo -u fullwarp fullwarp ...",
        )


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        raise FullwarpError(
            f"{path} cannot be written: {err.strerror or err}", hint="What was there before is still there."
        ) from err
