"""Counted resources, as Slurm's TRES and GRES strings give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gres:
    """One entry of a GRES string. `count` is per node.

    `shared` is per GPU (allocated | None, available): shards or MPS shares of each GPU.
    """

    name: str
    type: str | None
    count: int
    sockets: tuple[int, ...] | None = None
    indices: tuple[int, ...] | None = None
    shared: tuple[tuple[int | None, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Tres:
    """Resources of a job or node. None = not known, never 0 in its place.

    `gpus` counts devices and MIG slices; it is None where Slurm does not track gres/gpu.
    `gpus_by_type` may be empty although `gpus` is not; shards are never GPUs.
    """

    cpus: int | None = None
    memory_bytes: int | None = None
    nodes: int | None = None
    billing: float | None = None
    gpus: int | None = None
    gpus_by_type: Mapping[str, int] = field(default_factory=dict)
    shards: int = 0


@dataclass(frozen=True, slots=True)
class GpuPool:
    """The GPUs of one type on one node. `type` is "" for untyped; None = not known from the strings."""

    type: str
    total: int
    used: int | None
    used_indices: tuple[int, ...] | None = None
    free_indices: tuple[int, ...] | None = None
