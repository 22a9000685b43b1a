"""What the store already holds of attempts, and which of them are looked at again."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from data import js1
from data.history.columns import KEY
from data.history.datasets import DATASETS
from data.history.store import HistoryStore
from data.history.tables import day_of, keys_of
from data.model import Job

ATTEMPT = tuple(column.name for column in KEY)
METRICS_FAILED = "metrics did not answer"
_COLUMNS = (*ATTEMPT, "end_time", "collected_at", "record", "gpu_count", "gpu_source", "flags")
_FRESH = timedelta(minutes=5)  # the last samples of a job come after its end
_GOOD_SOURCES = frozenset({"metrics", "JS1 summary"})

Key = tuple[Any, ...]
Row = dict[str, Any]


def key_of(row: Mapping[str, Any]) -> Key:
    """The same as `Job.key`."""
    return tuple(row[name] for name in ATTEMPT)


def known_attempts(store: HistoryStore, day: date, jobs: Iterable[Job]) -> dict[Key, Row]:
    """Rows of `jobs/` of one day by attempt, of two the newest."""
    rows = store.read("jobs", day, _COLUMNS, _ids(jobs)).to_pylist()
    return {key_of(row): row for row in sorted(rows, key=lambda row: row["collected_at"])}


def needs_work(job: Job, row: Row | None, late_usage: timedelta) -> bool:
    """Whether an attempt is to be measured and written (again).

    It is when it is new, when Slurm's record of it changed, when it was written right after its end, and while its
    use is not known: until `late_usage` after its end, and whenever its JS1 summary has come meanwhile.
    """
    if row is None or row["record"] != record_of(job):
        return True
    end, written = row["end_time"], row["collected_at"]
    if written - end < _FRESH:
        return True
    flags = row["flags"] or ()
    if row["gpu_count"] == 0 or (row["gpu_source"] in _GOOD_SOURCES and METRICS_FAILED not in flags):
        return False
    has_summary = js1.decode(job.admin_comment).outcome is js1.Outcome.SUMMARY
    return (has_summary and row["gpu_source"] not in _GOOD_SOURCES) or written - end < late_usage


def record_of(job: Job) -> str:
    """Digest of what Slurm says of an ended attempt; nothing of a person is in it, nor of what may come later."""
    facts = (
        job.state,
        job.start_time,
        job.end_time,
        job.elapsed_seconds,
        job.suspended_seconds,
        job.account,
        job.partition,
        job.qos,
        job.nodes,
        repr(job.allocated),
        repr(job.exit_code),
        repr(job.usage),
    )
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def copies_elsewhere(
    store: HistoryStore, name: str, jobs: Iterable[Job], home: date, last: date
) -> Iterator[tuple[date, pa.Array]]:
    """Days other than `home` in which a dataset of one row per attempt holds these attempts, with the keys there."""
    jobs = list(jobs)
    keys = {job.key for job in jobs}
    first = min((day_of(job.start_time) for job in jobs if job.start_time), default=home)
    for day in store.days(name):
        if first <= day <= last and day != home:
            table = store.read(name, day, ATTEMPT, _ids(jobs))
            found = [row for row in table.to_pylist() if key_of(row) in keys]
            if found:
                yield day, key_texts(name, found)


def key_texts(name: str, rows: list[Row]) -> pa.Array:
    """Keys of rows as the store tells them apart."""
    dataset = DATASETS[name]
    fields = [dataset.schema.field(column) for column in dataset.key]
    return keys_of(dataset, pa.Table.from_pylist(rows, schema=pa.schema(fields)))


def overlapping(row: Row, jobs: Mapping[int, list[Job]]) -> Job | None:
    """The attempt to which a stored row of another key must belong: one raw id never runs twice at a time.

    None = the row's own attempt is a different one.
    """
    for job in jobs.get(row["job_id"], ()):
        if job.cluster != row["cluster"] or job.start_time is None or job.end_time is None:
            continue
        if key_of(row) != job.key and job.start_time <= row["start_time"] < max(job.end_time, job.start_time):
            return job
    return None


def by_raw_id(jobs: Iterable[Job]) -> dict[int, list[Job]]:
    found: defaultdict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        found[job.job_id].append(job)
    return dict(found)


def _ids(jobs: Iterable[Job]) -> pa.Array:
    return pa.array(sorted({job.job_id for job in jobs}), pa.int64())
