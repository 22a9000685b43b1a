"""What surrounds one job: who else is on its nodes, what waits ahead of it, and which ids are near one that is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from data.efficiency.mig import slice_profile
from data.model import ClusterSnapshot, GpuState, Job, Viewer
from data.queries.jobs import Found, find
from data.queries.live import snapshot
from data.queries.pending import Waiting
from data.queries.scope import may_see
from data.sources import Sources

_MOST_NODES = 16


@dataclass(frozen=True, slots=True)
class NodeNeighbors:
    """Other jobs on one node: those that the viewer may see, and how many `others` there are. `gpus` and
    `free_gpus` are the node's."""

    node: str
    jobs: tuple[Job, ...]
    others: int
    gpus: int
    free_gpus: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Waiting jobs of the same partition with a higher priority, whoever's, and the whole GPUs and MIG slices that
    they ask for, of those whose ask is known. None for `jobs` and `gpus` = priorities are not known."""

    jobs: int | None = None
    gpus: int | None = None
    slices: int = 0


def neighbors(viewer: Viewer, sources: Sources, job: Job, at: datetime | None = None) -> tuple[NodeNeighbors, ...]:
    """Answer with the other running jobs on the first 16 nodes of a job."""
    whole = snapshot(viewer, sources, at=at)
    own = {job.job_id, *(part.job_id for part in whole.jobs if _is_part(part, job))}
    return tuple(_on_node(whole, name, own) for name in job.nodes[:_MOST_NODES])


def ahead(viewer: Viewer, sources: Sources, row: Waiting, at: datetime | None = None) -> Ahead:
    """Answer how many waiting jobs stand before this one. Counts everybody's; names nobody."""
    if row.priority is None or not may_see(viewer, row.job):
        return Ahead()
    whole = sources.live.snapshot() if at is None else sources.live.at(at)
    parts = frozenset(row.job.partition.split(","))
    before = [
        job
        for job in whole.jobs
        if job.state == "PENDING"
        and job.job_id != row.job.job_id
        and (job.priority or 0) > row.priority
        and not parts.isdisjoint(job.partition.split(","))
    ]
    jobs = sum(job.array_task_count for job in before)
    devices = sum((job.requested.gpus or 0) * job.array_task_count for job in before)
    slices = sum(_slices(job) * job.array_task_count for job in before)
    return Ahead(jobs, devices - slices, slices)


def _slices(job: Job) -> int:
    return sum(asked for kind, asked in job.requested.gpus_by_type.items() if slice_profile(kind))


def nearest(viewer: Viewer, sources: Sources, text: str, most: int = 5) -> tuple[Found, ...]:
    """Jobs, users and nodes that the viewer may see and that `text` may have meant, best first."""
    found = find(viewer, sources, text[:100], most)
    if found:
        return found
    whole = snapshot(viewer, sources)
    seen = {job.display_id: job for job in whole.jobs if job.job_id and may_see(viewer, job)}
    users = sorted({job.user for job in seen.values() if job.user})
    ids = get_close_matches(text[:100], list(seen), most, 0.6)
    names = get_close_matches(text[:100], users, most, 0.6)
    nodes = {node.name: node.state.display for node in whole.nodes}
    hosts = get_close_matches(text[:100], list(nodes), most, 0.6)
    hits = [Found("job", name, seen[name].name) for name in ids] + [Found("user", name) for name in names]
    return tuple([*hits, *(Found("node", name, nodes[name]) for name in hosts)][:most])


def _on_node(whole: ClusterSnapshot, name: str, own: set[int]) -> NodeNeighbors:
    here = [job for job in whole.jobs if name in job.nodes and job.state != "PENDING"]
    named = tuple(job for job in here if job.job_id and job.job_id not in own)
    gpus = [gpu for gpu in whole.gpus if gpu.device.node == name]
    others = sum(not job.job_id for job in here)
    return NodeNeighbors(name, named, others, len(gpus), sum(gpu.state is GpuState.FREE for gpu in gpus))


def _is_part(other: Job, job: Job) -> bool:
    return job.het_job_id is not None and other.het_job_id == job.het_job_id
