"""Who held which device, as rows of `allocations/`: one per attempt, device and UTC day. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from data.join import holds
from data.model import ClusterSnapshot, Gpu, Job, JoinMethod, NodeDevices

_DAY = timedelta(days=1)
_ATTEMPT = ("cluster", "job_id", "submit_time", "start_time")
Row = dict[str, Any]
Place = tuple[Any, ...]
"""`Job.key`, node and device."""


def running_rows(snapshot: ClusterSnapshot, known: Container[Place]) -> list[Row]:
    """Rows of the running jobs' devices that are not yet `known` to be held on the snapshot's day: from each job's
    start up to that day, whose row stays open.

    Only what is certain: of a device that was merely likely nothing is recorded.
    """
    held = _held(snapshot)
    return [
        row
        for job in snapshot.jobs
        if holds(job) and job.start_time is not None and job.submit_time is not None
        for gpu in held.get(job.job_id, ())
        if place_of(job, gpu.device.node, device_name(gpu)) not in known
        for row in _days(job, gpu, job.start_time, snapshot.time)
    ]


def place_of(job: Job, node: str, device: str) -> Place:
    return (*job.key, node, device)


def ended_rows(rows: Iterable[Row], end: datetime) -> list[Row]:
    """The rows of one attempt that has ended: closed at its end, and carried on to it over days without a row."""
    last: dict[tuple[str, str], Row] = {}
    for row in rows:
        place = (row["node"], row["device"])
        if place not in last or row["from_time"] > last[place]["from_time"]:
            last[place] = row
    return [new for row in last.values() for new in _carried(row, end)]


def held_devices(rows: Iterable[Row]) -> tuple[NodeDevices, ...]:
    """What an attempt held, node by node, from its rows of one moment; nodes without Slurm's indices are left out."""
    by_node: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_node[row["node"]].append(row)
    found = []
    for node, mine in by_node.items():
        indices = [row["slurm_index"] for row in mine]
        if None not in indices:
            found.append(NodeDevices(node, len(mine), tuple(sorted(indices))))
    return tuple(found)


def device_name(gpu: Gpu) -> str:
    """UUID, bus id or index, with /slice; what makes a device unique on its node."""
    _, name, slice_id = gpu.device.key
    name = name or ("" if gpu.slurm_index is None else f"slurm-{gpu.slurm_index}")
    return f"{name}/{slice_id}" if slice_id else name


def _held(snapshot: ClusterSnapshot) -> dict[int, list[Gpu]]:
    held: defaultdict[int, list[Gpu]] = defaultdict(list)
    for gpu in snapshot.gpus:
        for job_id in gpu.job_ids if gpu.join is not JoinMethod.NODE_ESTIMATE else ():
            held[job_id].append(gpu)
    return held


def _days(job: Job, gpu: Gpu, start: datetime, now: datetime) -> Iterator[Row]:
    device = gpu.device
    row = {
        **{name: getattr(job, name) for name in _ATTEMPT},
        "node": device.node,
        "device": device_name(gpu),
        "slurm_index": gpu.slurm_index,
        "index": device.index,
        "uuid": device.uuid,
        "slice_id": device.slice_id,
        "slice_profile": device.slice_profile,
        "gpu_model": gpu.model,
        "join": None if gpu.join is None else str(gpu.join),
        "weight": gpu.weight,
        "is_shared": gpu.is_shared,
    }
    begin = start
    while begin <= now:
        end = next_midnight(begin)
        yield {**row, "from_time": begin, "to_time": end if end <= now else None}
        begin = end


def _carried(row: Row, end: datetime) -> Iterator[Row]:
    begin = row["from_time"]
    while begin < end or begin == row["from_time"]:
        until = min(next_midnight(begin), max(end, begin))
        new = {**row, "from_time": begin, "to_time": until}
        if new != row:
            yield new
        begin = next_midnight(begin)


def next_midnight(moment: datetime) -> datetime:
    """The beginning of the next UTC day."""
    day: date = moment.astimezone(UTC).date() + _DAY
    return datetime.combine(day, time(), UTC)
