"""Which partitions could run a described workload, what speaks against each, and the lines that ask for it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from chat.tools.gpu_kinds import Workload, kinds_of, measured_gib
from data.fitting import Fit, fits, left
from data.gpu_models import GIB
from data.model import ClusterSnapshot, Job, Node, Partition, Tres
from data.words import duration, slurm_time


@dataclass(frozen=True, slots=True)
class Offer:
    """One partition. `against` says in words why it cannot run the workload; `per_node` GPUs of `gpu_type` are on each
    of its nodes, and so many cores and so much memory belong to each GPU. `fit` are nodes with room now."""

    partition: Partition
    against: tuple[str, ...]
    gpu_type: str = ""
    gpu_memory_gib: float = math.inf
    per_node: int = 0
    cpus_per_gpu: int | None = None
    memory_per_gpu_bytes: int | None = None
    nodes_needed: int = 1
    fit: tuple[Fit, ...] = ()
    pending_jobs: int = 0
    has_gpus: bool = False

    @property
    def starts_now(self) -> bool:
        """Whether there is room now on as many nodes as it needs."""
        return not self.against and len(self.fit) >= self.nodes_needed


def offers(snapshot: ClusterSnapshot, wanted: Workload, accounts: frozenset[str]) -> tuple[Offer, ...]:
    """What each partition offers: those that can run it first, and of those the ones with room now."""
    free = fits(snapshot)
    made = []
    for partition in snapshot.partitions:
        if wanted.partition in ("", partition.name):
            offer = _offer(snapshot, partition, wanted, accounts)
            job = _as_job(partition, wanted, offer)
            fit = () if offer.against else free.of(job) if wanted.gpus else _with_room(snapshot, job)
            made.append(replace(offer, fit=fit))
    return tuple(sorted(made, key=lambda one: _rank(one, wanted)))


def _rank(one: Offer, wanted: Workload) -> tuple[bool | float | str, ...]:
    """Those that can run it, without GPUs for a job that wants none, open to every QOS, with room now, and of GPUs no
    larger than they must be; then the site's own order."""
    is_spoiled = not wanted.gpus and one.has_gpus
    first = (bool(one.against), is_spoiled, bool(one.partition.allowed_qos), not one.starts_now)
    size = one.gpu_memory_gib if wanted.gpu_memory_gib else 0.0
    return (*first, size, not one.partition.is_default, -(one.partition.priority_tier or 0), one.partition.name)


def lines_of(offer: Offer, wanted: Workload) -> tuple[str, ...]:
    """The #SBATCH lines that ask an offer for the workload: GPUs in equal parts on as few nodes as they fit on."""
    found = [f"--partition={offer.partition.name}"]
    found += [f"--qos={offer.partition.allowed_qos[0]}"] if offer.partition.allowed_qos else []
    if wanted.gpus:
        each = -(-wanted.gpus // offer.nodes_needed)
        kind = f"{offer.gpu_type}:" if offer.gpu_type else ""
        cpus = -(-wanted.cpus // wanted.gpus) if wanted.cpus else offer.cpus_per_gpu
        memory = math.ceil(wanted.memory_gib / wanted.gpus) or (offer.memory_per_gpu_bytes or 0) // GIB
        found += [f"--nodes={offer.nodes_needed}", f"--gpus-per-node={kind}{each}"]
        found += [f"--cpus-per-gpu={cpus}"] if cpus else []
        found += [f"--mem-per-gpu={memory}G"] if memory else []
    else:
        found += [f"--cpus-per-task={wanted.cpus}"] if wanted.cpus else []
        found += [f"--mem={math.ceil(wanted.memory_gib)}G"] if wanted.memory_gib else []
    found += [f"--time={slurm_time(wanted.hours * 3600)}"] if wanted.hours else []
    return tuple(f"#SBATCH {line}" for line in found)


def _offer(snapshot: ClusterSnapshot, partition: Partition, wanted: Workload, accounts: frozenset[str]) -> Offer:
    nodes = [node for node in snapshot.nodes if partition.name in node.partitions]
    against = [*_closed(partition, wanted, accounts)]
    pending = sum(max(1, job.array_task_count) for job in snapshot.jobs if _waits_in(job, partition.name))
    bare = Offer(partition, (), pending_jobs=pending, has_gpus=any(node.gpus_total for node in nodes))
    if not wanted.gpus:
        return replace(bare, against=tuple(against))
    kinds = kinds_of(nodes, wanted, measured_gib(snapshot))
    if not kinds:
        return replace(bare, against=(*against, _no_gpus(wanted)))
    owners = kinds[0].by_node
    per_node = max(owners.values())
    if sum(owners.values()) < wanted.gpus:
        against.append(f"it has {sum(owners.values())} such GPUs in all")
    return replace(
        bare,
        against=tuple(against),
        gpu_type=kinds[0].name,
        gpu_memory_gib=kinds[0].memory_gib,
        per_node=per_node,
        cpus_per_gpu=_share(nodes, owners, [node.cpus for node in nodes]),
        memory_per_gpu_bytes=_share(nodes, owners, [node.memory_bytes for node in nodes]),
        nodes_needed=-(-wanted.gpus // per_node),
    )


def _with_room(snapshot: ClusterSnapshot, job: Job) -> tuple[Fit, ...]:
    """Nodes of the partition with enough free cores and memory for a job without GPUs."""
    asked = job.requested
    rooms = [
        Fit(node.name, 0, left(node.cpus, node.allocated_cpus), left(node.memory_bytes, node.allocated_memory_bytes))
        for node in snapshot.nodes
        if node.state.schedulable and job.partition in node.partitions
    ]
    return tuple(
        room
        for room in rooms
        if (room.free_cpus or 0) >= max(1, asked.cpus or 1)
        and (room.free_memory_bytes or 0) >= (asked.memory_bytes or 0)
    )


def _closed(partition: Partition, wanted: Workload, accounts: frozenset[str]) -> Iterator[str]:
    if partition.state != "UP":
        yield f"it is {partition.state.lower()}"
    limit = partition.max_time_seconds
    if limit is not None and wanted.hours * 3600 > limit:
        yield f"its longest run time is {duration(limit)}"
    if partition.allowed_accounts and accounts and accounts.isdisjoint(partition.allowed_accounts):
        yield "none of your accounts may use it"


def _no_gpus(wanted: Workload) -> str:
    kind = f" of type {wanted.gpu_type}" if wanted.gpu_type else ""
    memory = f" with {wanted.gpu_memory_gib:g} GiB" if wanted.gpu_memory_gib else ""
    return f"it has no GPUs{kind}{memory}"


def _share(nodes: Sequence[Node], owners: Mapping[str, int], amounts: Sequence[int | None]) -> int | None:
    """What of a node belongs to each of its GPUs, on the node with least; None where that is not known."""
    shares = [
        amount // node.gpus_total
        for node, amount in zip(nodes, amounts, strict=True)
        if node.name in owners and amount is not None and node.gpus_total
    ]
    return min(shares, default=None)


def _waits_in(job: Job, partition: str) -> bool:
    return job.state == "PENDING" and partition in job.partition.split(",")


def _as_job(partition: Partition, wanted: Workload, offer: Offer) -> Job:
    """The workload as a job that waits, for the same question of what fits as any waiting job is asked."""
    memory = round(wanted.memory_gib * GIB) or None
    by_type = {offer.gpu_type: wanted.gpus} if offer.gpu_type else {}
    asked = Tres(wanted.cpus or None, memory, offer.nodes_needed, gpus=wanted.gpus, gpus_by_type=by_type)
    return Job(partition.cluster, 0, "", "PENDING", partition=partition.name, requested=asked)
