"""What a job holds on each of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from data.model import Gres, NodeDevices, Tres
from data.slurm.gres import gres


class NodeShare(NamedTuple):
    """CPUs and memory of one node that a job holds; None = not said."""

    cpus: int | None = None
    memory_bytes: int | None = None


def node_devices(
    nodes: Sequence[str], details: Iterable[str], allocated: Tres, shares: Mapping[str, NodeShare]
) -> tuple[NodeDevices, ...]:
    """One entry per node and GPU type, in the order of `nodes`; CPUs and memory stand in a node's first entry.

    `details` are Slurm's GRES strings with indices, one per node. When they are missing or do not fit the nodes
    (slurmctld forgets them 300 s after the end), indices are None, and counts are known only for a single node.
    """
    details = tuple(details)
    is_told = allocated.gpus == 0 or any("gpu" in detail for detail in details)
    if is_told and len(details) == len(nodes):
        return tuple(
            entry
            for node, detail in zip(nodes, details, strict=True)
            for entry in _known(node, gres(detail), shares.get(node, NodeShare()))
        )
    return tuple(_forgotten(node, len(nodes) == 1, allocated, shares.get(node, NodeShare())) for node in nodes)


def _known(node: str, entries: tuple[Gres, ...], share: NodeShare) -> list[NodeDevices]:
    shards = sum(entry.count for entry in entries if entry.name == "shard")
    gpus = [entry for entry in entries if entry.name == "gpu" and entry.count]
    if not gpus:
        return [NodeDevices(node, 0, (), None, share.cpus, share.memory_bytes, shards)]
    first, *others = gpus
    return [
        NodeDevices(node, first.count, _indices(first), first.type, share.cpus, share.memory_bytes, shards),
        *(NodeDevices(node, entry.count, _indices(entry), entry.type) for entry in others),
    ]


def _forgotten(node: str, is_only: bool, allocated: Tres, share: NodeShare) -> NodeDevices:
    if allocated.gpus == 0:
        return NodeDevices(node, 0, (), None, share.cpus, share.memory_bytes, allocated.shards if is_only else 0)
    type_ = next(iter(allocated.gpus_by_type)) if len(allocated.gpus_by_type) == 1 else None
    count = allocated.gpus if is_only else None
    shards = allocated.shards if is_only else 0
    return NodeDevices(node, count, None, type_, share.cpus, share.memory_bytes, shards)


def _indices(entry: Gres) -> tuple[int, ...] | None:
    """The indices, unless they contradict the count."""
    return entry.indices if entry.indices is not None and len(entry.indices) == entry.count else None
