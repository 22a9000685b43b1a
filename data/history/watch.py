"""Record what nobody remembers later: states of nodes, the queue, and which device a job holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from data.history.allocation_rows import Row, ended_rows, held_devices, running_rows
from data.history.datasets import DATASETS
from data.history.known import ATTEMPT, Key, by_raw_id, key_of, key_texts, overlapping
from data.history.privacy import Privacy
from data.history.snapshot_rows import snapshot_row
from data.history.state import CollectorState
from data.history.store import HistoryStore
from data.history.tables import day_of, table_of
from data.model import ClusterSnapshot, Job, NodeDevices

_PLACE = (*ATTEMPT, "node", "device")
_EARLY = timedelta(seconds=15)  # a timer is not exact


def record_moment(
    store: HistoryStore, snapshot: ClusterSnapshot, state: CollectorState, privacy: Privacy
) -> CollectorState:
    """Record devices that came to jobs since the last time, and every few minutes the whole cluster."""
    known = store.read("allocations", day_of(snapshot.time), _PLACE).to_pylist()
    rows = running_rows(snapshot, {tuple(row.values()) for row in known})
    _put(store, rows, snapshot.made_at)
    last, every = state.snapshot_at, timedelta(minutes=privacy.settings.snapshot_minutes)
    if last is not None and timedelta(0) <= snapshot.time - last < every - _EARLY:
        return state
    row = table_of(DATASETS["snapshots"], [snapshot_row(snapshot)], snapshot.made_at)
    store.put("snapshots", privacy.fitted("snapshots", row))
    return replace(state, snapshot_at=snapshot.time)


def recorded_devices(store: HistoryStore, jobs: Iterable[Job]) -> dict[Key, tuple[NodeDevices, ...]]:
    """What attempts held, by `Job.key`, as far as it was recorded."""
    return {key: held_devices(_last_of(rows)) for key, rows in _rows_of(store, list(jobs)).items()}


def close_allocations(store: HistoryStore, jobs: Iterable[Job], now: datetime) -> None:
    """End the rows of attempts that have ended, and take away those of days after the end and of wrong keys."""
    jobs = list(jobs)
    ends = {job.key: job.end_time for job in jobs}
    closed: list[Row] = []
    for key, rows in _rows_of(store, jobs).items():
        if (end := ends[key]) is not None:
            closed += ended_rows((row for row in rows if row["from_time"] <= end), end)
    _put(store, closed, now)
    _drop_wrong(store, "allocations", "from_time", jobs, now)


def drop_wrong_hours(store: HistoryStore, jobs: Iterable[Job], now: datetime) -> None:
    """Take away hours of `usage/` that were written while an attempt seemed to run and that lie behind its end."""
    _drop_wrong(store, "usage", "hour", list(jobs), now)


def _put(store: HistoryStore, rows: list[Row], at: datetime) -> None:
    if rows:
        store.put("allocations", table_of(DATASETS["allocations"], [{**row, "collected_at": at} for row in rows]))


def _rows_of(store: HistoryStore, jobs: list[Job]) -> dict[Key, list[Row]]:
    """Rows of `allocations/` by attempt."""
    found: dict[Key, list[Row]] = {job.key: [] for job in jobs}
    begins = [job.start_time for job in jobs if job.start_time]
    ends = [job.end_time for job in jobs if job.end_time]
    if not begins or not ends:
        return {}
    ids = pa.array(sorted({job.job_id for job in jobs}), pa.int64())
    for day in store.days("allocations"):
        if day_of(min(begins)) <= day <= day_of(max(ends)):
            for row in store.read("allocations", day, job_ids=ids).to_pylist():
                if (key := key_of(row)) in found:
                    found[key].append(row)
    return {key: rows for key, rows in found.items() if rows}


def _last_of(rows: Iterable[Row]) -> list[Row]:
    last: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row["from_time"]):
        last[(row["node"], row["device"])] = row
    return list(last.values())


def _drop_wrong(store: HistoryStore, name: str, time_column: str, jobs: list[Job], now: datetime) -> None:
    """Rows of these attempts that begin at or behind their end, and rows of a key that cannot be (`overlapping`)."""
    ends = {job.key: job.end_time for job in jobs}
    begins = [job.start_time for job in jobs if job.start_time]
    by_id = by_raw_id(jobs)
    columns = tuple(dict.fromkeys((*DATASETS[name].key, time_column)))
    for day in store.days(name):
        if not begins or not day_of(min(begins)) <= day <= day_of(now):
            continue
        table = store.read(name, day, columns, pa.array(sorted(by_id), pa.int64()))
        wrong = [row for row in table.to_pylist() if _is_wrong(row, time_column, ends, by_id)]
        if wrong:
            store.drop(name, day, pc.unique(key_texts(name, wrong)))


def _is_wrong(row: Row, time_column: str, ends: dict[Key, datetime | None], by_id: dict[int, list[Job]]) -> bool:
    key = key_of(row)
    if key not in ends:
        return overlapping(row, by_id) is not None
    end = ends[key]
    begun = row[time_column]
    return end is not None and begun.astimezone(UTC) >= end and begun > row["start_time"]
