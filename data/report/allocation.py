"""What Slurm gave a job, node by node; every allocated GPU gets a place, measured or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from data.efficiency import Weight, device_weight, slice_profile
from data.model import Device, Job


@dataclass(frozen=True, slots=True)
class Allocation:
    """`by_node` holds the GPUs per node where known; `total` None = Slurm does not track GPUs."""

    nodes: tuple[str, ...]
    by_node: Mapping[str, int]
    total: int | None
    types: Mapping[str, tuple[str | None, ...]]
    shards: Mapping[str, int]

    def type_at(self, node: str, position: int) -> str | None:
        """GPU type of the n-th GPU on `node`, as Slurm calls it."""
        types = self.types.get(node) or self.types.get("", ())
        if not types:
            return None
        return types[position] if position < len(types) else types[-1]


def allocation_of(job: Job) -> Allocation:
    """Lay out what `job` holds. A count per node is taken from Slurm, or from the total where only one way fits."""
    nodes = tuple(dict.fromkeys((*job.nodes, *(held.node for held in job.devices))))
    total = _total(job)
    return Allocation(nodes, _by_node(job, nodes, total), total, _types(job), _shards(job, nodes))


def missing_places(allocation: Allocation, seen: Mapping[str, int]) -> list[str]:
    """Nodes of the allocated GPUs that were not seen, one entry per GPU ("" = nobody knows which node)."""
    if allocation.total is None:
        return []
    missing = max(0, allocation.total - sum(seen.values()))
    places = [node for node, count in allocation.by_node.items() for _ in range(max(0, count - seen.get(node, 0)))]
    short = missing - len(places)
    return places[:missing] if short <= 0 else places + _likely(allocation, seen, short)


def weight_of(device: Device | None, gpu_type: str | None) -> Weight:
    """Share of a whole GPU, from the device's own profile and model or from Slurm's type."""
    if device is None:
        return device_weight(gpu_type, gpu_type)
    is_slice = device.slice_id is not None or None
    return device_weight(slice_profile(device.slice_profile, gpu_type), device.model or gpu_type, is_slice=is_slice)


def _total(job: Job) -> int | None:
    if job.allocated.gpus is not None:
        return job.allocated.gpus
    counts = [held.gpu_count for held in job.devices]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _by_node(job: Job, nodes: tuple[str, ...], total: int | None) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for held in job.devices:
        if held.gpu_count is not None:
            counts[held.node] += held.gpu_count
    if counts or total is None or not nodes:
        return dict(counts)
    if total == 0 or len(nodes) == 1:
        return dict.fromkeys(nodes, total)
    return {}


def _types(job: Job) -> dict[str, tuple[str | None, ...]]:
    """Types by node; under "" those of the whole job, for nodes of which Slurm no longer says."""
    types: dict[str, tuple[str | None, ...]] = {}
    for held in job.devices:
        if held.gpu_type is not None:
            types[held.node] = types.get(held.node, ()) + (held.gpu_type,) * (held.gpu_count or 1)
    if len(job.allocated.gpus_by_type) == 1:
        types[""] = tuple(job.allocated.gpus_by_type)
    return types


def _shards(job: Job, nodes: tuple[str, ...]) -> dict[str, int]:
    shards = {held.node: held.shards for held in job.devices if held.shards}
    return shards or (dict.fromkeys(nodes, job.allocated.shards) if job.allocated.shards else {})


def _likely(allocation: Allocation, seen: Mapping[str, int], short: int) -> list[str]:
    """Places where Slurm no longer says how many GPUs a node gave: the only node, or the nodes without any."""
    bare = [node for node in allocation.nodes if not seen.get(node)]
    if len(allocation.nodes) == 1 or len(bare) == 1:
        return (list(allocation.nodes) if len(allocation.nodes) == 1 else bare) * short
    return bare if len(bare) == short else [""] * short
