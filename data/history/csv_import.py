"""Jobs of another accounting, from a CSV into the history."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from data.errors import BadRequest, SettingsError
from data.history.csv_map import CsvMap, read_map
from data.history.csv_rows import is_wanted, job_of
from data.history.ended import with_records
from data.history.known import by_raw_id
from data.history.measure.attempts import measure
from data.history.measure.rows import jobs_table
from data.history.measure.usage_rows import usage_table
from data.history.measure.use import AttemptUse
from data.history.privacy import Privacy, privacy_of
from data.history.store import HistoryStore, writing
from data.history.tables import day_of
from data.model import Job, Rows
from data.report import UseSource
from data.slurm.broken_rows import joined, read_rows
from settings import Settings

_BLOCK = 5000
_MOST_FIELD_BYTES = 1 << 20
_QUOTED = re.compile(r'"[^"]*"')
_COLUMNS = ("cluster", "job_id", "submit_time", "start_time", "end_time")


@dataclass(frozen=True, slots=True)
class Imported:
    """`left_out` rows did not fit the map's filter, `known` are attempts that the history has from Slurm already."""

    jobs: int
    users: int
    left_out: int
    known: int
    broken: int
    broken_examples: tuple[str, ...]
    gpu_hours_allocated: float
    gpu_hours_measured: float
    gpu_hours_used: float


def import_csv(settings: Settings, path: Path, map_path: Path, now: datetime, wait_seconds: float = 0.0) -> Imported:
    """Write the CSV's rows to `jobs/` and `usage/`; the same file once more changes nothing.

    Rows that cannot be read are counted and named. Raises BadRequest for a CSV or map that cannot be used,
    SettingsError without a folder of history.
    """
    if settings.history.directory is None:
        raise SettingsError("history.directory is empty: there is nowhere to import to", hint="Set it.")
    given, found, left_out = read_csv(path, map_path)
    known, users = 0, set[str | None]()
    hours = [0.0, 0.0, 0.0]
    with writing(settings.history.directory, wait_seconds=wait_seconds) as store:
        privacy = privacy_of(store, settings.history, now)
        for first in range(0, len(found.rows), _BLOCK):
            block = found.rows[first : first + _BLOCK]
            new = _without_known(store, block)
            known += len(block) - len(new)
            users |= {job.user for job in new}
            table = _write(store, new, given.source, settings, privacy, now)
            for place, name in enumerate(("allocated", "measured", "used")):
                hours[place] += pa.compute.sum(table.column(f"gpu_hours_{name}")).as_py() or 0.0
    total = len(found.rows) - known
    return Imported(total, len(users), left_out, known, found.broken, found.broken_examples, *hours)


def read_csv(path: Path, map_path: Path) -> tuple[CsvMap, Rows[Job], int]:
    """The map, the attempts and how many rows its filter left out."""
    with _opened(map_path) as file:
        map_text = file.read()
    csv.field_size_limit(_MOST_FIELD_BYTES)
    with _opened(path) as file:
        head = file.readline()  # once: a pipe cannot be read again
        reader = csv.DictReader(chain([head], file), strict=True, delimiter=_delimiter(head))
        given = read_map(map_text, dict.fromkeys(reader.fieldnames or ()))
        parts, left_out = [], 0
        for rows in _blocks(reader):
            wanted = [(line, row) for line, row in rows if is_wanted(row, given)]
            left_out += len(rows) - len(wanted)
            parts.append(read_rows(wanted, lambda one: job_of(one[1], given), lambda one: f"line {one[0]}"))
    return given, joined(parts), left_out


def _delimiter(head: str) -> str:
    """What stands most often between the columns of the first line: sacct writes |, some spreadsheets ;."""
    return max(",|;\t", key=_QUOTED.sub("", head).count)


def _blocks(reader: csv.DictReader[str]) -> Iterator[list[tuple[int, dict[str, str]]]]:
    block: list[tuple[int, dict[str, str]]] = []
    try:
        for row in reader:
            block.append((reader.line_num, row))
            if len(block) == _BLOCK:
                yield block
                block = []
    except (csv.Error, UnicodeDecodeError) as err:
        raise BadRequest(f"the CSV cannot be read behind line {reader.line_num}: {err}") from err
    yield block


def _without_known(store: HistoryStore, jobs: Sequence[Job]) -> list[Job]:
    """Attempts that are not there yet under another submit time, which Slurm knows and a CSV may not."""
    by_id = by_raw_id(jobs)
    ids = pa.array(sorted(by_id), pa.int64())
    there: set[tuple[str, int, datetime]] = set()
    keys = {job.key for job in jobs}
    for day in sorted({day_of(job.end_time) for job in jobs if job.end_time}):
        for row in store.read("jobs", day, _COLUMNS, ids).to_pylist():
            if (row["cluster"], row["job_id"], row["submit_time"], row["start_time"]) not in keys:
                there.add((row["cluster"], row["job_id"], row["start_time"]))
    return [job for job in jobs if (job.cluster, job.job_id, job.start_time) not in there]


def _write(
    store: HistoryStore, jobs: Sequence[Job], source: str, settings: Settings, privacy: Privacy, now: datetime
) -> pa.Table:
    measured = measure(jobs, None, now=now, settings=settings)
    uses = [_named(use, source) for use in measured.uses.values()]
    table = with_records(jobs_table(uses, collected_at=now, account_path={}), jobs)
    usage = usage_table(uses, collected_at=now, account_path={})
    store.put("usage", privacy.fitted("usage", usage))
    store.put("jobs", privacy.fitted("jobs", table))
    return table


def _named(use: AttemptUse, source: str) -> AttemptUse:
    return replace(use, source=source) if use.source == UseSource.JS1 else use


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except OSError as err:
        raise BadRequest(f"{path} cannot be read: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise BadRequest(f"{path} is not UTF-8: {err.reason}", hint="Write it anew as UTF-8.") from err
