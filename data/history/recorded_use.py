"""How single attempts used their GPUs, as the history keeps it: one reading for all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.history.columns import KEY
from data.history.files import files
from data.history.recorder import reread
from data.history.tables import day_of
from data.model import Job
from data.report import UseSource

AttemptKey = tuple[str, int, datetime | None, datetime | None]
_KEYS = tuple(column.name for column in KEY)
_READ = (*_KEYS, "collected_at", "utilization", "coverage", "gpu_source")


@dataclass(frozen=True, slots=True)
class RecordedUse:
    """Mean UTIL (GR on slices) over the measured time, `coverage` the smallest share measured of a device, uncapped;
    None = not known."""

    utilization: float
    coverage: float | None
    source: UseSource


def recorded_use(directory: Path, jobs: Collection[Job]) -> Mapping[AttemptKey, RecordedUse]:
    """By `Job.key`; attempts of which the history has no measurement are absent. Opens only the files of the days on
    which the jobs ended. Raises OSError for a folder that may not be read."""
    ends = [job.end_time for job in jobs if job.end_time is not None]
    if not ends:
        return {}
    return reread(lambda: _read(directory, {job.job_id for job in jobs}, day_of(min(ends)), day_of(max(ends))))


def _read(directory: Path, job_ids: set[int], first: date, last: date) -> Mapping[AttemptKey, RecordedUse]:
    wanted = pc.field("job_id").isin(sorted(job_ids)) & pc.field("utilization").is_valid()
    newest: dict[AttemptKey, dict[str, Any]] = {}
    for path in files(directory, "jobs", first, last).paths:
        for row in pq.read_table(path, columns=list(_READ), filters=wanted, partitioning=None).to_pylist():
            key = (row["cluster"], row["job_id"], row["submit_time"], row["start_time"])
            if key not in newest or row["collected_at"] > newest[key]["collected_at"]:
                newest[key] = row
    return {key: _use(row) for key, row in newest.items()}


def _use(row: Mapping[str, Any]) -> RecordedUse:
    return RecordedUse(row["utilization"], row["coverage"], UseSource(row["gpu_source"]))
