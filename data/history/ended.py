"""Attempts that ended within one slice of time: which need work, and their rows in the order that a crash forgives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa

from configuration.history import HistorySettings
from data.history.known import copies_elsewhere, known_attempts, needs_work, record_of
from data.history.plan import Slice
from data.history.privacy import Privacy
from data.history.store import HistoryStore
from data.history.tables import day_of
from data.history.watch import close_allocations, drop_wrong_hours, recorded_devices
from data.live.recorded import with_devices
from data.model import Job, Rows


@dataclass(frozen=True, slots=True)
class Work:
    """`ended` are the attempts of the slice, `todo` those that are measured and written, with what was recorded of
    their devices. `unkeyed` have no submit or start time and cannot be stored."""

    day: date
    ended: tuple[Job, ...]
    todo: tuple[Job, ...]
    unkeyed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of attempts, of the schemas of `jobs/` and `usage/`."""

    jobs: pa.Table
    usage: pa.Table


def work_of(store: HistoryStore, found: Rows[Job], span: Slice, settings: HistorySettings) -> Work:
    """Choose the attempts whose end lies in [start, end) of the slice."""
    start, end = span
    inside = {job.key: job for job in found.rows if job.end_time is not None and start <= job.end_time < end}
    ended = tuple(job for job in inside.values() if None not in job.key)
    unkeyed = tuple(f"job {job.display_id}: no submit or start time" for job in inside.values() if None in job.key)
    known = known_attempts(store, day_of(start), ended)
    late = timedelta(days=settings.late_usage_days)
    todo = [job for job in ended if needs_work(job, known.get(job.key), late)]
    devices = recorded_devices(store, todo) if todo else {}
    return Work(day_of(start), ended, tuple(with_devices(job, devices.get(job.key, ())) for job in todo), unkeyed)


def write_ended(
    store: HistoryStore, work: Work, tables: Tables, privacy: Privacy, now: datetime, first_at: datetime | None
) -> int:
    """Write the rows of a slice, `jobs/` last, and give how many left another day's file.

    An attempt that ended before this collector first ran was never seen running by it: nothing of it can be stale.
    """
    seen = [job for job in work.todo if first_at is not None and job.end_time is not None and job.end_time >= first_at]
    if work.todo:
        store.put("usage", privacy.fitted("usage", tables.usage))
        drop_wrong_hours(store, seen, now)
        close_allocations(store, seen, now)
        store.put("jobs", privacy.fitted("jobs", with_records(tables.jobs, work.todo)))
    moved = 0
    for day, keys in copies_elsewhere(store, "jobs", work.ended, work.day, day_of(now)):
        store.drop("jobs", day, keys)
        moved += len(keys)
    return moved


def with_records(table: pa.Table, jobs: Iterable[Job]) -> pa.Table:
    """The rows of `jobs/` with the digests of Slurm's records."""
    records = {job.key: record_of(job) for job in jobs}
    names = ("cluster", "job_id", "submit_time", "start_time")
    rows = zip(*(table.column(name).to_pylist() for name in names), strict=True)
    place = table.schema.get_field_index("record")
    return table.set_column(place, table.schema.field(place), pa.array([records.get(key) for key in rows], pa.string()))
