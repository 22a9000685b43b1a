"""Shards: shares of a GPU that several jobs use at once. They make a GPU shared and never count as GPUs."""

from __future__ import annotations

from math import ceil

from data.join.claims import give
from data.join.holding import Share
from data.join.slots import Slot
from data.model import JoinMethod, Node


def claim_shards(node: Node, slots: list[Slot], shares: list[Share]) -> None:
    """Mark the GPUs that shard jobs use as shared, and give them to the jobs that no better evidence placed."""
    placed = {job_id for slot in slots for job_id in slot.jobs}
    sharers = [share for share in shares if share.shards and share.job_id not in placed]
    per_gpu = _allocated_shards(node)
    if per_gpu is not None and len(per_gpu) == len(slots):
        known = [slot for slot, allocated in zip(slots, per_gpu, strict=True) if allocated]
        for slot in known:
            slot.is_shared = slot.is_used = True
        method = JoinMethod.INDEX if len(sharers) == 1 else JoinMethod.NODE_ESTIMATE
        open_slots = [slot for slot in known if not slot.jobs] or known
    else:
        method = JoinMethod.NODE_ESTIMATE
        open_slots = _likeliest(node, slots, sharers)
    for slot in open_slots:
        for share in sharers:
            give(slot, share.job_id, method if slot.is_certain else JoinMethod.NODE_ESTIMATE)
            slot.is_shared = True


def _allocated_shards(node: Node) -> tuple[int, ...] | None:
    """Allocated shards per GPU in Slurm's order, None where Slurm does not list them."""
    for gres in (*node.gres_used, *node.gres):
        if gres.name == "shard" and gres.shared:
            allocated = [used for used, _ in gres.shared if used is not None]
            return tuple(allocated) if len(allocated) == len(gres.shared) else None
    return None


def _likeliest(node: Node, slots: list[Slot], sharers: list[Share]) -> list[Slot]:
    """As many GPUs as the shards need at least, those that nobody holds first."""
    wanted = sum(share.shards for share in sharers)
    total = sum(gres.count for gres in node.gres if gres.name == "shard")
    if not wanted or not slots:
        return []
    per_gpu = max(1, total // len(slots))
    return [slot for slot in slots if not slot.jobs][: ceil(wanted / per_gpu)]
