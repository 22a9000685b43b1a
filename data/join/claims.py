"""Give each slot of a node to the job that holds it, best evidence first."""

from __future__ import annotations

from dataclasses import dataclass, field

from data.join.holding import Share
from data.join.slots import Slot
from data.model import JoinMethod

_BEST_FIRST = tuple(JoinMethod)


@dataclass(slots=True)
class ClaimCount:
    """What did not add up on one node: jobs whose labels contradict Slurm, GPUs that found no slot."""

    disagreeing: list[int] = field(default_factory=list)
    unplaced: int = 0


def claim(slots: list[Slot], shares: list[Share], labels: dict[int, list[Slot]], count: ClaimCount) -> None:
    """Fill `jobs` and `method` of the slots: by job label, by allocated index, by what is left on the node."""
    missing = {share.job_id: _by_label(share, labels.get(share.job_id, []), count) for share in shares}
    by_index = {slot.index: slot for slot in slots}
    for share in shares:
        missing[share.job_id] = _by_index(share, by_index, missing[share.job_id], count)
    waiting = [share for share in shares if missing[share.job_id] and not share.shards]
    if waiting:
        _by_elimination(slots, waiting, missing, count)


def _by_label(share: Share, labelled: list[Slot], count: ClaimCount) -> int | None:
    """Claim the labelled devices; more labels than GPUs are cut to those that Slurm's indices confirm."""
    if share.count is not None and len(labelled) > share.count and not share.shards:
        count.disagreeing.append(share.job_id)
        agreed = [slot for slot in labelled if slot.index in (share.indices or ())]
        labelled = (agreed or labelled)[: share.count]
    for slot in labelled:
        give(slot, share.job_id, JoinMethod.JOB_LABEL)
    if share.shards:
        for slot in labelled:
            slot.is_shared = True
    return None if share.count is None or share.shards else max(0, share.count - len(labelled))


def _by_index(share: Share, by_index: dict[int, Slot], missing: int | None, count: ClaimCount) -> int | None:
    """Claim what Slurm's indices name, except devices whose label names another job (then the mapping disagrees)."""
    if missing == 0 or not share.indices:
        return missing
    left = len(share.indices) if missing is None else missing
    for index in share.indices:
        slot = by_index.get(index)
        if slot is None or share.job_id in slot.jobs or left == 0:
            continue
        if slot.method is JoinMethod.JOB_LABEL and not slot.is_shared:
            count.disagreeing.append(share.job_id)
            continue
        give(slot, share.job_id, JoinMethod.INDEX if slot.is_certain else JoinMethod.NODE_ESTIMATE)
        slot.is_shared = slot.is_shared or share.shards > 0
        left -= 1
    return left


def _by_elimination(slots: list[Slot], waiting: list[Share], missing: dict[int, int | None], count: ClaimCount) -> None:
    """Give jobs of known number but unknown devices what is left: exact when one job takes all of it."""
    alone = len(waiting) == 1 and None not in missing.values()
    for share in waiting:
        wanted = missing[share.job_id]
        if wanted is None:
            continue
        free = [slot for slot in slots if not slot.jobs and _fits(slot, share, slots)]
        used = [slot for slot in free if slot.is_used]
        pool = used if len(used) >= wanted else used + [slot for slot in free if not slot.is_used]
        trusted = alone and not share.is_even_split and share.job_id not in count.disagreeing
        exact = trusted and wanted in (len(used), len(free))
        for slot in pool[:wanted]:
            give(slot, share.job_id, JoinMethod.INDEX if exact and slot.is_certain else JoinMethod.NODE_ESTIMATE)
        count.unplaced += max(0, wanted - len(pool))


def _fits(slot: Slot, share: Share, slots: list[Slot]) -> bool:
    return not share.type or slot.type == share.type or all(other.type != share.type for other in slots)


def give(slot: Slot, job_id: int, method: JoinMethod) -> None:
    """Add a job to a slot; a slot of several jobs is shared and only as sure as its weakest evidence."""
    slot.is_shared = slot.is_shared or bool(slot.jobs)
    slot.jobs.append(job_id)
    slot.method = method if slot.method is None else max(slot.method, method, key=_BEST_FIRST.index)
