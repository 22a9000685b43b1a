"""Which of a site's kinds of GPUs and slices a described workload could run on. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data.gpu_models import GIB, gpu_model
from data.model import ClusterSnapshot, Node


@dataclass(frozen=True, slots=True)
class Workload:
    """What a job will need. 0 and "" = not said; `gpu_memory_gib` is what each GPU must have, the rest is in all."""

    gpus: int = 1
    gpu_type: str = ""
    gpu_memory_gib: float = 0.0
    cpus: int = 0
    memory_gib: float = 0.0
    hours: float = 0.0
    partition: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """One of Slurm's types: how many each node has, and the memory of one (inf = not known)."""

    name: str
    by_node: Mapping[str, int]
    memory_gib: float


def measured_gib(snapshot: ClusterSnapshot) -> dict[str, float]:
    """Memory of the whole GPUs of each node as measured: where the name of a type leaves it open."""
    found: dict[str, float] = {}
    for gpu in snapshot.gpus:
        total = gpu.values.get("gpu_memory_total_bytes")
        if total is not None and not gpu.device.is_slice:
            found[gpu.device.node] = max(total / GIB, found.get(gpu.device.node, 0.0))
    return found


def kinds_of(nodes: Sequence[Node], wanted: Workload, measured: Mapping[str, float]) -> list[Kind]:
    """The types that fit: the smallest memory that suffices first, slices for one alone."""
    found: dict[str, dict[str, int]] = {}
    sizes: dict[str, float] = {}
    for node in nodes:
        for pool in node.gpu_pools:
            memory = _memory_gib(pool.type) or measured.get(node.name)
            if _suits(pool.type, memory, wanted):
                found.setdefault(pool.type, {})[node.name] = pool.total
                sizes[pool.type] = memory or math.inf
    kinds = [Kind(name, owners, sizes[name]) for name, owners in found.items()]
    return sorted(kinds, key=lambda one: (one.memory_gib, one.name))


def _suits(kind: str, memory: float | None, wanted: Workload) -> bool:
    """Memory that nobody knows does not speak against a type."""
    model, is_slice = gpu_model(kind), _slice_gib(kind) is not None
    names = (kind.lower(), model.name.lower() if model else "")
    return (
        (not wanted.gpu_type or any(wanted.gpu_type.lower() in name for name in names))
        and (not wanted.gpu_memory_gib or memory is None or memory >= wanted.gpu_memory_gib)
        and not (is_slice and (wanted.gpus > 1 or not (wanted.gpu_memory_gib or wanted.gpu_type)))
    )


def _memory_gib(kind: str) -> float | None:
    """Memory of a type by its name; None = the name leaves it open."""
    model = gpu_model(kind)
    return _slice_gib(kind) or (float(model.memory_gib) if model and model.memory_gib else None)


def _slice_gib(kind: str) -> float | None:
    """Memory of a MIG slice, from a type such as 1g.10gb or a100_3g.20gb."""
    head, dot, tail = kind.lower().rpartition(".")
    digits = tail.removesuffix("gb")
    return float(digits) if dot and head.endswith("g") and tail.endswith("gb") and digits.isdigit() else None
