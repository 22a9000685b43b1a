"""How many whole GPUs were in which state, at each recorded moment of a span."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from data.history.files import files
from data.history.recorder import reread, within
from data.history.tables import day_of
from data.model import GpuState

States = Mapping[GpuState, int]
Recorded = tuple[datetime, States, frozenset[str]]
_GONE = (GpuState.DRAINED, GpuState.DOWN)


def recorded_states(directory: Path, cluster: str, since: datetime, until: datetime) -> Sequence[Recorded]:
    """Moments within (since, until], oldest first, with the nodes that were down or drained; MIG slices are left out
    of the counts. Raises OSError for a folder that may not be read."""
    return reread(lambda: _read(directory, cluster, since, until))


def _read(directory: Path, cluster: str, since: datetime, until: datetime) -> Sequence[Recorded]:
    wanted, found = within(cluster, since, until), {}
    for path in files(directory, "snapshots", day_of(since), day_of(until)).paths:
        table = pq.read_table(path, columns=["cluster", "time", "devices"], filters=wanted, partitioning=None)
        for time, devices in zip(table["time"].to_pylist(), table["devices"], strict=True):
            found[time] = (_counted(devices), _gone(devices))
    return [(time, *found[time]) for time in sorted(found)]


def _counted(devices: pa.ListScalar) -> States:
    rows = devices.values
    whole = [] if rows is None else rows.field("state").filter(pc.is_null(rows.field("slice_id"))).to_pylist()
    return {GpuState(state): count for state, count in Counter(whole).items()}


def _gone(devices: pa.ListScalar) -> frozenset[str]:
    rows = devices.values
    if rows is None:
        return frozenset()
    is_gone = pc.is_in(rows.field("state"), pa.array([state.value for state in _GONE]))
    return frozenset(rows.field("node").filter(is_gone).to_pylist())
