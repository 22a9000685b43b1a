"""Nodes, partitions and reservations, as Slurm knows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from data.model.tres import GpuPool, Gres


@dataclass(frozen=True, slots=True)
class NodeState:
    """`base` and `flags` as Slurm gives them; `display` is Slurm's long word (DRAINING, MIXED-, DOWN*).

    `bucket` is one exclusive class for counting and color (idle, mixed, allocated, completing, planned,
    reserved, draining, drained, down, reboot, powering_up, powering_down, blocked, maint, unknown ...);
    `schedulable` says that nothing of health or administration speaks against new work.
    """

    base: str
    flags: tuple[str, ...]
    display: str
    bucket: str
    schedulable: bool


@dataclass(frozen=True, slots=True)
class Node:
    """One node. Bytes and aware UTC times; None = not known."""

    cluster: str
    name: str
    state: NodeState
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    cpus: int | None = None
    allocated_cpus: int | None = None
    cpu_load: float | None = None
    memory_bytes: int | None = None
    allocated_memory_bytes: int | None = None
    free_memory_bytes: int | None = None
    gres: tuple[Gres, ...] = ()
    gres_used: tuple[Gres, ...] = ()
    gpu_pools: tuple[GpuPool, ...] = ()
    gpus_allocated: int | None = None
    power_watts: float | None = None
    reason: str | None = None
    reason_user: str | None = None
    reason_time: datetime | None = None
    boot_time: datetime | None = None
    last_busy_time: datetime | None = None
    slurm_version: str | None = None
    address: str | None = None

    @property
    def gpus_total(self) -> int:
        """Configured GPUs and MIG slices; `gpus_allocated` is None where Slurm does not track them."""
        return sum(pool.total for pool in self.gpu_pools)


@dataclass(frozen=True, slots=True)
class Partition:
    cluster: str
    name: str
    state: str
    nodes: tuple[str, ...] = ()
    max_time_seconds: float | None = None
    default_time_seconds: float | None = None
    priority_tier: int | None = None
    allowed_accounts: tuple[str, ...] = ()
    allowed_qos: tuple[str, ...] = ()
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    cluster: str
    name: str
    nodes: tuple[str, ...]
    start_time: datetime | None
    end_time: datetime | None
    flags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    is_maintenance: bool = False


@dataclass(frozen=True, slots=True)
class Association:
    """One row of Slurm's account tree: `user` is None for an account itself."""

    cluster: str
    account: str
    parent: str | None
    user: str | None
    is_coordinator: bool = False
    admin_level: str | None = None


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """What of the cluster to show; empty = everything. `states` are node buckets, `gpu_states` those of GpuState,
    `models` GPU models as shown, `features` node features (any of them), `feature_sets` sets of which a node has at
    least one as a whole, `text` matches a part of the node's name."""

    partitions: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()
    gpu_states: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    text: str = ""
    feature_sets: tuple[frozenset[str], ...] = ()
