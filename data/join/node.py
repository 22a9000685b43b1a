"""Join the devices of one node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from data.inventory import Inventory, Known, Place
from data.join.claims import ClaimCount, claim
from data.join.hardware import slice_weight
from data.join.holding import Share
from data.join.labels import LabelCount, Labels
from data.join.matching import learned, match
from data.join.measured import leaves
from data.join.noting import notes_of
from data.join.shards import claim_shards
from data.join.slots import Slot, slots_of
from data.join.state import SignalLimits, held_state, open_state, signals_disagree
from data.metrics.registry import METRICS
from data.model import DeviceReading, Gpu, GpuState, JoinMethod, Node, Note

_KEPT_FROM_BEFORE = frozenset(
    {"gpu_memory_total_bytes", *(name for name, metric in METRICS.items() if metric.is_whole_card)}
)

_LABEL_LAG = timedelta(seconds=120)


@dataclass(slots=True)
class NodeJoin:
    gpus: list[Gpu] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    learned: list[tuple[Place, Known]] = field(default_factory=list)


def join_node(
    node: Node,
    shares: list[Share],
    readings: list[DeviceReading],
    labels: Labels,
    inventory: Inventory,
    started: Mapping[int, datetime],
    sampled: datetime | None,
    limits: SignalLimits,
) -> NodeJoin:
    """Match devices to slots, jobs to slots, and give each slot its state."""
    slots = slots_of(node)
    measured, ambiguous = leaves(readings)
    label_count, claim_count = LabelCount(ambiguous=ambiguous), ClaimCount()
    said = {r.device.key: labels.on(node.name, r.job_labels, label_count) for r in measured if r.job_labels}
    proof = _proof(shares, measured, said, slots)
    extra = match(node.name, slots, measured, inventory, proof)
    _mark_used(node, slots)
    claim(slots, shares, _labelled(slots, said), claim_count)
    claim_shards(node, slots, shares)
    _mark_unknown(node, slots, shares)
    gpus = [_gpu(node, slot, started, sampled, limits) for slot in slots]
    notes = notes_of(node, gpus, len(measured), len(extra), label_count, claim_count)
    return NodeJoin(gpus, notes, learned(node.name, slots, proof))


def _proof(
    shares: list[Share],
    measured: list[DeviceReading],
    said: dict[tuple[str, str, str], list[int]],
    slots: list[Slot],
) -> dict[int, DeviceReading]:
    """Pair index and device of jobs that hold one GPU here and label one device here, shared with no other job."""
    single = {s.job_id: s.indices[0] for s in shares if s.indices and len(s.indices) == 1 and not s.shards}
    indices = {slot.index for slot in slots}
    by_job: dict[int, list[DeviceReading]] = {}
    for reading in measured:
        jobs = said.get(reading.device.key, ())
        if len(jobs) == 1:
            by_job.setdefault(jobs[0], []).append(reading)
    pairs = {index: by_job[job_id] for job_id, index in single.items() if job_id in by_job and index in indices}
    return {index: found[0] for index, found in pairs.items() if len(found) == 1}


def _labelled(slots: list[Slot], said: dict[tuple[str, str, str], list[int]]) -> dict[int, list[Slot]]:
    found: dict[int, list[Slot]] = {}
    for slot in slots if said else ():
        if slot.reading is not None:
            for job_id in said.get(slot.reading.device.key, ()):
                found.setdefault(job_id, []).append(slot)
    return found


def _mark_used(node: Node, slots: list[Slot]) -> None:
    used = {index for pool in node.gpu_pools for index in pool.used_indices or ()}
    for slot in slots if used else ():
        slot.is_used = slot.index in used


def _mark_unknown(node: Node, slots: list[Slot], shares: list[Share]) -> None:
    """Mark open slots that may be held: Slurm counts more than its jobs explain, or does not count GPUs at all."""
    open_slots = [slot for slot in slots if not slot.jobs and not slot.is_used]
    if node.gpus_allocated is None:
        known_free = not shares and node.state.base not in ("ALLOCATED", "MIXED")
        maybe = 0 if known_free or _all_counted(node, shares) else len(open_slots)
    else:
        maybe = node.gpus_allocated - (len(slots) - len(open_slots))
    for slot in open_slots[: max(0, maybe)]:
        slot.is_unknown = True


def _all_counted(node: Node, shares: list[Share]) -> bool:
    """Whether the jobs on the node all say how many GPUs they hold."""
    if any(pool.used is None for pool in node.gpu_pools):
        return bool(shares) and all(share.count is not None and not share.is_even_split for share in shares)
    return True


def _gpu(
    node: Node, slot: Slot, started: Mapping[int, datetime], sampled: datetime | None, limits: SignalLimits
) -> Gpu:
    assert slot.device is not None
    device = slot.device
    model = device.model or (slot.type if slot.type and not slot.profile else None)
    values = _values(slot, started, sampled)
    disagree = signals_disagree(values, model, device.is_slice, limits)
    weight, known = slice_weight(device.slice_profile or slot.profile, model) if device.is_slice else (1.0, True)
    return Gpu(
        device=device,
        model=model,
        state=_state(node, slot, values, disagree),
        job_ids=tuple(sorted(slot.jobs)),
        values=values,
        join=slot.method,
        is_shared=slot.is_shared,
        weight=weight,
        weight_known=known,
        slurm_index=slot.index,
        signals_disagree=disagree,
    )


def _values(slot: Slot, started: Mapping[int, datetime], sampled: datetime | None) -> Mapping[str, float]:
    """The measured values; of a device whose every job began after the sample only what does not speak of work.

    `sampled` is the newest sample of all. A device that still carries another job's label may be a few scrapes older.
    """
    if slot.reading is None:
        return {}
    values = slot.reading.values
    starts = [started[job_id] for job_id in slot.jobs if job_id in started]
    if not starts or sampled is None or slot.method is JoinMethod.JOB_LABEL:
        return values
    if min(starts) <= (sampled - _LABEL_LAG if any(slot.reading.job_labels) else sampled):
        return values
    return {name: value for name, value in values.items() if name in _KEPT_FROM_BEFORE}


def _state(node: Node, slot: Slot, values: Mapping[str, float], disagree: bool) -> GpuState:
    if slot.jobs or slot.is_used:
        return held_state(values, bool(slot.device and slot.device.is_slice), disagree)
    return GpuState.HELD_UNKNOWN if slot.is_unknown else open_state(node)
