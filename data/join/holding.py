"""Which jobs hold devices, and what each holds on each node, as Slurm says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from data.model import Job, NodeDevices

_HOLDING = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING", "COMPLETING"})


def holds(job: Job) -> bool:
    """Whether the job occupies its nodes: running, suspended, or still completing."""
    return bool(job.nodes) and (job.state in _HOLDING or not _HOLDING.isdisjoint(job.state_flags))


@dataclass(frozen=True, slots=True)
class Share:
    """What one job holds on one node. `count` None = not known; `is_even_split` marks a count that was only divided
    by the number of nodes; `indices` None = not known."""

    job_id: int
    count: int | None
    indices: tuple[int, ...] | None = None
    type: str | None = None
    shards: int = 0
    is_even_split: bool = False


def shares_by_node(jobs: Iterable[Job]) -> dict[str, list[Share]]:
    """Give the shares of all holding jobs by node name, each job once per node, by job id: where devices must be
    guessed, the same jobs always get the same ones."""
    shares: dict[str, list[Share]] = {}
    for job in sorted(jobs, key=lambda job: job.job_id):
        if not holds(job):
            continue
        told: dict[str, list[NodeDevices]] = {}
        for part in job.devices:
            told.setdefault(part.node, []).append(part)
        for node in dict.fromkeys((*job.nodes, *told)):
            share = _told(job, told[node]) if node in told else _untold(job, told)
            shares.setdefault(node, []).append(share)
    return shares


def _told(job: Job, parts: list[NodeDevices]) -> Share:
    """Sum up what Slurm's detail says of one node (a job may hold several GPU types there)."""
    counts = [_count(part) for part in parts]
    known = [count for count in counts if count is not None]
    indices = [part.gpu_indices for part in parts]
    types = {part.gpu_type for part in parts}
    return Share(
        job.job_id,
        sum(known) if len(known) == len(counts) else _only_node(job),
        tuple(sorted({i for some in indices for i in some or ()})) if None not in indices else None,
        types.pop() if len(types) == 1 else None,
        sum(part.shards for part in parts),
    )


def _count(part: NodeDevices) -> int | None:
    if part.gpu_count is not None:
        return part.gpu_count
    return len(part.gpu_indices) if part.gpu_indices is not None else None


def _only_node(job: Job) -> int | None:
    return job.allocated.gpus if len(job.nodes) == 1 else None


def _untold(job: Job, told: dict[str, list[NodeDevices]]) -> Share:
    """Without detail: the job's GPUs less those told elsewhere, divided evenly over its other nodes."""
    total = job.allocated.gpus
    others = [node for node in job.nodes if node not in told]
    if total is None:
        return Share(job.job_id, None, shards=job.allocated.shards if len(job.nodes) == 1 else 0)
    rest = max(0, total - sum(_count(part) or 0 for parts in told.values() for part in parts))
    if len(others) == 1:
        return Share(job.job_id, rest, shards=job.allocated.shards if not told else 0)
    even = rest % len(others) == 0
    return Share(job.job_id, rest // len(others) if even else None, is_even_split=True)
