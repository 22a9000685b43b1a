"""Which free GPUs a waiting job could use: type, partition, features, cores and memory of one node. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from data.model import ClusterSnapshot, GpuState, Job, Node, Tres


@dataclass(frozen=True, slots=True)
class Fit:
    """A node on which at least one node's share of the job would fit now; free GPUs of the kind asked for."""

    node: str
    free_gpus: int
    free_cpus: int | None
    free_memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Free:
    """What is free on each schedulable node: GPUs by Slurm's type."""

    nodes: Mapping[str, Node]
    gpus: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def of(self, job: Job) -> tuple[Fit, ...]:
        """The nodes that would fit, most free GPUs first; () for a job that asks for no known number of GPUs."""
        if not job.requested.gpus:
            return ()
        parts = frozenset(job.partition.split(","))
        found = [
            fit
            for name, gpus in self.gpus.items()
            if not parts.isdisjoint(self.nodes[name].partitions)
            and (fit := _fit(self.nodes[name], gpus, job.requested, job.requested_features)) is not None
        ]
        return tuple(sorted(found, key=lambda fit: (-fit.free_gpus, fit.node)))


def fits(snapshot: ClusterSnapshot) -> Free:
    """Count the free GPUs of a snapshot by node and type."""
    nodes = {node.name: node for node in snapshot.nodes if node.state.schedulable}
    types = {(node.name, index): kind for node in nodes.values() for index, kind in enumerate(_types_in_order(node))}
    free: dict[str, Counter[str]] = {}
    for gpu in snapshot.gpus:
        name = gpu.device.node
        if name in nodes and gpu.state is GpuState.FREE and not gpu.is_shared:
            kind = types.get((name, -1 if gpu.slurm_index is None else gpu.slurm_index), "")
            free.setdefault(name, Counter())[kind] += 1
    return Free(nodes, free)


def _types_in_order(node: Node) -> list[str]:
    """The type of each of Slurm's indices, where Slurm numbers the pools one after another."""
    placed = {
        index: pool.type
        for pool in node.gpu_pools
        for index in (*(pool.used_indices or ()), *(pool.free_indices or ()))
    }
    plain = [pool.type for pool in node.gpu_pools for _ in range(min(pool.total, 1024))]
    return [placed.get(index, kind) for index, kind in enumerate(plain)]


def _fit(node: Node, gpus: Mapping[str, int], asked: Tres, features: str | None) -> Fit | None:
    wanted = {kind for kind, count in asked.gpus_by_type.items() if kind and count}
    free = sum(count for kind, count in gpus.items() if not wanted or kind in wanted)
    shares = max(1, asked.nodes or 1)
    cpus, memory = left(node.cpus, node.allocated_cpus), left(node.memory_bytes, node.allocated_memory_bytes)
    enough = (
        free >= -(-(asked.gpus or 0) // shares)
        and _has(cpus, asked.cpus, shares)
        and _has(memory, asked.memory_bytes, shares)
        and _has_features(node, features)
    )
    return Fit(node.name, free, cpus, memory) if enough else None


def left(total: int | None, used: int | None) -> int | None:
    """What of a node nobody holds; None = not known."""
    return None if total is None or used is None else max(0, total - used)


def _has(left: int | None, asked: int | None, shares: int) -> bool:
    """What is not known does not speak against a node."""
    return left is None or asked is None or left >= asked // shares


def _has_features(node: Node, wanted: str | None) -> bool:
    """Plain conjunctions (a&b) and alternatives (a|b); of anything more only that each name could be meant."""
    if not wanted:
        return True
    if re.fullmatch(r"[\w.\-]+(&[\w.\-]+)*", wanted):
        return all(name in node.features for name in wanted.split("&"))
    return any(name in node.features for name in re.findall(r"[A-Za-z_][\w.\-]*", wanted))
