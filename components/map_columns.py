"""The GPUs of the map as columns of small integers and texts, one row per GPU, in map order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from components.elements import short_model
from components.policy_words import TABS
from data.efficiency.mig import slice_profile
from data.gpu_columns import PLACES, Floats, places
from data.model import Gpu, Job, JoinMethod

DeviceKey = tuple[str, str, str]
VERDICTS = tuple(status.value for status in TABS)  # the most urgent first
NOTES = (
    "UTIL says idle, another signal says busy: not judged.",
    "Shared by several jobs.",
    "Known by node only: an estimate.",
)
RATIOS = ("gpu_utilization", "sm_activity", "tensor_activity")
AMOUNTS = ("power_watts", "temperature_celsius")
MEMORY = ("gpu_memory_used_bytes", "gpu_memory_total_bytes")
PER_MILLE, TENTH_GIB = 1000, (1 << 30) / 10
_PER_UNIT = {
    **dict.fromkeys(RATIOS, float(PER_MILLE)),
    **dict.fromkeys(MEMORY, 1 / TENTH_GIB),
    **dict.fromkeys(AMOUNTS, 1.0),
}


@dataclass(slots=True)
class _Identity:
    """Where each GPU is: its label on the node, its card, and what a slice covers of it (0 = a whole GPU)."""

    label: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    slice: list[str] = field(default_factory=list)


def gpu_columns(
    gpus: Sequence[Gpu],
    node: Sequence[int],
    jobs: Iterable[Job],
    shown: Collection[DeviceKey] | None,
    verdicts: Mapping[int, str] | None = None,
) -> dict[str, list[Any]]:
    """Columns of GPUs in map order; `node` are their nodes' places. `model` holds names, None = not known. `verdict` is
    the place among `VERDICTS` of the worst verdict (by raw job id) of its jobs, -1 = none is known."""
    identity = _identities(gpus)
    by_id = {job.job_id: job for job in jobs}
    seen = None if shown is None else frozenset(shown)
    place, held = places(gpu.job_ids for gpu in gpus)
    holders: list[int] = place.tolist()
    names, users = [_job_ids(ids, by_id) for ids in held], [_users(ids, by_id) for ids in held]
    judged = [_verdict(ids, by_id, verdicts or {}) for ids in held]
    return {
        "node": list(node),
        "label": identity.label,
        "parent": identity.parent,
        "slots": identity.slots,
        "slice": identity.slice,
        "state": [PLACES[gpu.state] for gpu in gpus],
        "out": [0] * len(gpus) if seen is None else [int(gpu.device.key not in seen) for gpu in gpus],
        "model": [gpu.model for gpu in gpus],
        "job": [names[place] for place in holders],
        "user": [users[place] for place in holders],
        "note": [_note(gpu) for gpu in gpus],
        "verdict": [judged[place] for place in holders],
    }


def model_word(model: str | None) -> str:
    return short_model(model) if model else "model not known"


def _identities(gpus: Iterable[Gpu]) -> _Identity:
    """A whole GPU, and a slice of an unknown card, is its own card."""
    found = _Identity()
    cards: dict[tuple[str, int], int] = {}
    following = 0
    for gpu in gpus:
        device = gpu.device
        index = device.index if device.index is not None else gpu.slurm_index
        label = "?" if index is None else str(index)
        if device.slice_id is None:
            found.label.append(label)
            found.slots.append(0)
        else:
            found.label.append(f"{label}/{device.slice_id}" if device.slice_id else label)
            found.slots.append(_slots(gpu))
        card = following
        if device.slice_id is not None and device.index is not None:
            card = cards.setdefault((device.node, device.index), following)
        found.parent.append(card)
        following += card == following
        found.slice.append(device.slice_profile or "")
    return found


def _slots(gpu: Gpu) -> int:
    """Compute slices that a MIG slice covers, 1 where the profile is not known."""
    profile = slice_profile(gpu.device.slice_profile, gpu.model)
    return int(profile.split("g", 1)[0]) if profile else 1


def _job_ids(job_ids: Iterable[int], by_id: Mapping[int, Job]) -> str:
    return ", ".join(by_id[job_id].display_id if job_id in by_id else str(job_id) for job_id in job_ids)


def _users(job_ids: Iterable[int], by_id: Mapping[int, Job]) -> str:
    users = {user for job_id in job_ids if job_id in by_id and (user := by_id[job_id].user)}
    return ", ".join(sorted(users))


def _verdict(job_ids: Sequence[int], by_id: Mapping[int, Job], verdicts: Mapping[int, str]) -> int:
    """A part of a het job has the verdict of its leader."""
    leaders = [by_id[job_id].het_job_id if job_id in by_id else None for job_id in job_ids]
    known = [verdicts[one] for one in (*job_ids, *leaders) if one is not None and one in verdicts]
    return min((VERDICTS.index(word) for word in known), default=-1)


def _note(gpu: Gpu) -> int:
    """The place of its note in `NOTES`, -1 = none."""
    if gpu.signals_disagree:
        return 0
    if gpu.is_shared:
        return 1
    return 2 if gpu.join is JoinMethod.NODE_ESTIMATE else -1


def measured(gpus: Sequence[Gpu]) -> dict[str, Floats]:
    """What the map can show of each GPU, in the unit inside; NaN = not measured."""
    values = [gpu.values for gpu in gpus]
    found = {RATIOS[0]: [gpu.utilization for gpu in gpus]}
    found |= {name: [one.get(name) for one in values] for name in (*RATIOS[1:], *MEMORY, *AMOUNTS)}
    return {name: np.array(column, np.float64) for name, column in found.items()}


def small(columns: Mapping[str, Floats]) -> dict[str, list[int | None]]:
    """Whole numbers of the unit of each column on the map; None = not measured."""
    return {name: _whole(column * _PER_UNIT[name]) for name, column in columns.items()}


def _whole(column: Floats) -> list[int | None]:
    known = np.isfinite(column)
    numbers = np.where(known, np.rint(column), 0).astype(np.int64).astype(object)
    numbers[~known] = None
    return list(numbers.tolist())
