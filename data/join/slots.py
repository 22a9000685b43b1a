"""The GPUs and MIG slices that Slurm has configured on a node."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.join.hardware import mig_profile
from data.model import Device, DeviceReading, GpuPool, JoinMethod, Node

MOST_PER_NODE = 1024


@dataclass(slots=True)
class Slot:
    """One configured GPU while its node is joined. `index` is Slurm's; `is_certain` says that device and index
    surely belong together; `is_used` that Slurm counts it as allocated although no known job holds it."""

    index: int
    type: str
    profile: str | None
    reading: DeviceReading | None = None
    device: Device | None = None
    is_certain: bool = True
    jobs: list[int] = field(default_factory=list)
    method: JoinMethod | None = None
    is_shared: bool = False
    is_used: bool = False
    is_unknown: bool = False


def slots_of(node: Node) -> list[Slot]:
    """List the configured devices in the order of Slurm's indices; at most MOST_PER_NODE."""
    slots: list[Slot] = []
    taken = {index for pool in node.gpu_pools for index in _given_indices(pool) or ()}
    following = iter(range(len(taken) + MOST_PER_NODE))
    for pool in node.gpu_pools:
        indices = _given_indices(pool)
        if indices is None:
            count = min(pool.total, MOST_PER_NODE - len(slots))
            free = (index for index in following if index not in taken)
            indices = tuple(next(free) for _ in range(count))
        profile = mig_profile(pool.type)
        slots += [Slot(index, pool.type, profile) for index in indices]
    slots.sort(key=lambda slot: slot.index)
    return slots[:MOST_PER_NODE]


def _given_indices(pool: GpuPool) -> tuple[int, ...] | None:
    """The pool's indices where Slurm names every one of them."""
    if pool.used_indices is None or pool.free_indices is None:
        return None
    indices = tuple(sorted({*pool.used_indices, *pool.free_indices}))
    return indices if indices and len(indices) == pool.total else None
