"""Counts of a snapshot, with what each mean and sum rests on. Pure; of one snapshot, so that all add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from data.gpu_columns import STATES, Bools, GpuColumns, gpu_columns, places
from data.model import ClusterSnapshot, GpuState, Job
from data.uses import Use, uses


@dataclass(frozen=True, slots=True)
class Queue:
    """Jobs by what they do. `gpus_requested` are those of pending jobs, arrays counted by task;
    `requests_unknown` pending jobs do not say how many GPUs they ask for."""

    running: int = 0
    suspended: int = 0
    pending: int = 0
    gpus_requested: int = 0
    requests_unknown: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """One partition or model."""

    name: str
    nodes: int
    use: Use
    queue: Queue


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole of a snapshot. `by_state` counts GPUs and slices alike, `nodes_by_state` nodes by bucket."""

    nodes: int
    nodes_by_state: Mapping[str, int]
    use: Use
    queue: Queue
    by_state: Mapping[GpuState, int] = field(default_factory=dict)
    by_partition: tuple[Group, ...] = ()
    by_model: tuple[Group, ...] = ()


def totals(snapshot: ClusterSnapshot) -> Totals:
    """Count everything once for the cluster, and by partition and model.

    A node of three partitions counts once in the cluster and in each of its partitions; what is held counts in the
    partition of its job.
    """
    columns = gpu_columns(snapshot.gpus)
    by_state = np.bincount(columns.state, minlength=len(STATES)).tolist()
    return Totals(
        nodes=len(snapshot.nodes),
        nodes_by_state=dict(Counter(node.state.bucket for node in snapshot.nodes)),
        use=uses(columns, np.zeros_like(columns.node), 1)[0],
        queue=queue_of(snapshot.jobs),
        by_state=dict(zip(STATES, by_state, strict=True)),
        by_partition=_by_partition(snapshot, columns),
        by_model=_by_model(snapshot, columns),
    )


def queue_of(jobs: Iterable[Job]) -> Queue:
    """Count jobs; a pending array counts its tasks."""
    running = suspended = pending = asked = unknown = 0
    for job in jobs:
        if job.state == "PENDING":
            tasks = max(1, job.array_task_count)
            pending += tasks
            unknown += tasks if job.requested.gpus is None else 0
            asked += (job.requested.gpus or 0) * tasks
        elif job.state == "SUSPENDED":
            suspended += 1
        else:
            running += 1
    return Queue(running, suspended, pending, asked, unknown)


def _by_partition(snapshot: ClusterSnapshot, columns: GpuColumns) -> tuple[Group, ...]:
    names = {name for node in snapshot.nodes for name in node.partitions}
    names |= {job.partition for job in snapshot.jobs if job.partition and "," not in job.partition}
    jobs: dict[str, list[Job]] = {}
    for job in snapshot.jobs:
        for name in job.partition.split(","):
            jobs.setdefault(name, []).append(job)
    partitions = {node.name: node.partitions for node in snapshot.nodes}
    holders = _Holders(snapshot)
    groups = []
    for name in sorted(names):
        is_here = np.array([name in partitions.get(node, ()) for node in columns.nodes], np.bool_)
        use = uses(columns, np.where(is_here[columns.node], 0, -1), 1, holders.others(name))[0]
        groups.append(
            Group(name, sum(name in node.partitions for node in snapshot.nodes), use, queue_of(jobs.get(name, ())))
        )
    return tuple(groups)


class _Holders:
    """In which partitions the jobs run that hold each GPU."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        partition_of = {job.job_id: job.partition for job in snapshot.jobs}
        self._place, held = places(gpu.job_ids for gpu in snapshot.gpus)
        self._known = [{partition_of[job_id] for job_id in job_ids if job_id in partition_of} for job_ids in held]

    def others(self, name: str) -> Bools:
        """By GPU: whether it is known to be held, and by no job of this partition."""
        is_other = np.array([bool(known) and name not in known for known in self._known], np.bool_)
        return is_other[self._place]


def _by_model(snapshot: ClusterSnapshot, columns: GpuColumns) -> tuple[Group, ...]:
    models, nodes = columns.models, len(columns.nodes)
    running = {job.job_id: job for job in snapshot.jobs}
    held_by: list[set[int]] = [set() for _ in models]
    for gpu, model in zip(snapshot.gpus, columns.model.tolist(), strict=True):
        held_by[model].update(gpu.job_ids)
    on_nodes = np.bincount(np.unique(columns.model * nodes + columns.node) // max(1, nodes), minlength=len(models))
    rows = zip(models, on_nodes.tolist(), uses(columns, columns.model, len(models)), held_by, strict=True)
    return tuple(
        Group(name, count, use, queue_of(running[job_id] for job_id in jobs if job_id in running))
        for name, count, use, jobs in sorted(rows, key=lambda row: row[0])
    )
