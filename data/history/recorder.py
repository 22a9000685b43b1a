"""Look up what was recorded of a past moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.history.allocation_rows import Row, held_devices
from data.history.files import files
from data.history.snapshot_rows import recorded_jobs, recorded_nodes
from data.history.tables import day_of
from data.live.recorded import Attempt, Recorded
from data.model import NodeDevices

T = TypeVar("T")
_PARTS = "rows-"
_HELD_COLUMNS = (
    "cluster",
    "job_id",
    "start_time",
    "node",
    "device",
    "from_time",
    "to_time",
    "collected_at",
    "slurm_index",
    "slice_id",
)


def recorded_at(directory: Path, cluster: str, moment: datetime, *, every: timedelta) -> Recorded:
    """What the history holds of a moment: the last record that is at most two of its intervals old, and devices.

    Damaged files are left out. Raises OSError for a folder that may not be read.
    """
    return reread(lambda: _read(directory, cluster, moment, every))


def reread(read: Callable[[], T]) -> T:
    """Read, and once more where a day's parts became one file meanwhile."""
    try:
        return read()
    except FileNotFoundError:
        return read()


def within(cluster: str, since: datetime, until: datetime) -> pc.Expression:
    """Records of a cluster within (since, until]."""
    return (pc.field("cluster") == cluster) & (pc.field("time") > _time(since)) & (pc.field("time") <= _time(until))


def _read(directory: Path, cluster: str, moment: datetime, every: timedelta) -> Recorded:
    row = _snapshot_row(directory, cluster, moment - 2 * every, moment)
    held = _held(directory, cluster, moment)
    if row is None:
        return Recorded(held=held)
    return Recorded(row["time"], recorded_nodes(row), recorded_jobs(row), held)


def _snapshot_row(directory: Path, cluster: str, since: datetime, until: datetime) -> dict[str, Any] | None:
    """The newest row of `snapshots/` within (since, until]."""
    best: dict[str, Any] | None = None
    wanted = within(cluster, since, until)
    for path in files(directory, "snapshots", day_of(since), day_of(until)).paths:
        if not _may_hold(path, since, until):
            continue
        found = pq.read_table(path, filters=wanted, partitioning=None)
        for row in found.sort_by([("time", "descending")]).slice(0, 1).to_pylist():
            if best is None or row["time"] > best["time"]:
                best = row
    return best


def _may_hold(path: Path, since: datetime, until: datetime) -> bool:
    """A part of a day is named after its time."""
    clock = path.stem.removeprefix(_PARTS)
    if not path.name.startswith(_PARTS) or len(clock) != 6 or not clock.isdigit():
        return True
    day = path.parent.name.partition("=")[2]
    return f"{since:%Y-%m-%d%H%M%S}" <= day + clock <= f"{until:%Y-%m-%d%H%M%S}"


def _held(directory: Path, cluster: str, moment: datetime) -> dict[Attempt, tuple[NodeDevices, ...]]:
    day = day_of(moment)
    wanted = (pc.field("cluster") == cluster) & (pc.field("from_time") <= _time(moment))
    newest: dict[tuple[Any, ...], Row] = {}
    for path in files(directory, "allocations", day, day).paths:
        for row in pq.read_table(path, columns=list(_HELD_COLUMNS), filters=wanted, partitioning=None).to_pylist():
            key = (row["job_id"], row["start_time"], row["node"], row["device"], row["from_time"])
            if key not in newest or newest[key]["collected_at"] < row["collected_at"]:
                newest[key] = row
    by_attempt: defaultdict[Attempt, list[Row]] = defaultdict(list)
    for row in newest.values():
        if row["to_time"] is None or row["to_time"] > moment:
            by_attempt[(row["job_id"], row["start_time"])].append(row)
    return {attempt: devices for attempt, rows in by_attempt.items() if (devices := held_devices(rows))}


def _time(moment: datetime) -> pa.Scalar:
    return pa.scalar(moment, pa.timestamp("us", tz="UTC"))
