"""The numbers of sets of devices: counts by state, mean utilization, power. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from data.gpu_columns import STATES, Bools, Floats, GpuColumns, Ints, gpu_columns
from data.model import Gpu, GpuState

HELD = frozenset({GpuState.BUSY, GpuState.IDLE, GpuState.UNMEASURED})
_ELSEWHERE = len(STATES)
_KINDS = (*(state.value for state in STATES), "elsewhere")
_IS_HELD = np.array([state in HELD for state in STATES])
_UNMEASURED = STATES.index(GpuState.UNMEASURED)


@dataclass(frozen=True, slots=True)
class Counts:
    """Devices by state; the states and `elsewhere` add up to `total`. Whole numbers, except for weighted counts.

    `unknown`: Slurm does not say whether they are held. `elsewhere`: in the numbers of a partition, held by jobs of
    other partitions. `shared` are held devices with more than one job (already in the states).
    """

    total: float = 0
    busy: float = 0
    idle: float = 0
    unmeasured: float = 0
    unknown: float = 0
    free: float = 0
    drained: float = 0
    down: float = 0
    elsewhere: float = 0
    shared: float = 0

    @property
    def allocated(self) -> float:
        """Held by jobs: busy, idle and not measured."""
        return self.busy + self.idle + self.unmeasured


@dataclass(frozen=True, slots=True)
class Use:
    """The numbers of one set of devices. None = nothing of it was measured.

    `utilization` is the mean over the `utilization_devices` held devices whose signals can be trusted, of
    `held_devices`; a slice weighs its share of a whole GPU. `power_watts` is the sum over `power_cards` measured cards
    of `cards`; each card counts once, however many slices it is cut into.
    """

    gpus: Counts = Counts()
    slices: Counts = Counts()
    weighted: Counts = Counts()
    utilization: float | None = None
    utilization_devices: int = 0
    held_devices: int = 0
    power_watts: float | None = None
    power_cards: int = 0
    cards: int = 0


def use_of(gpus: Iterable[Gpu]) -> Use:
    """Count devices, their mean utilization and the power of their cards."""
    columns = gpu_columns(tuple(gpus))
    return uses(columns, np.zeros(len(columns.node), np.int64), 1)[0]


def uses(columns: GpuColumns, group: Ints, groups: int, elsewhere: Bools | None = None) -> list[Use]:
    """The same for each of several groups at once: row n is of group `group[n]`, and of none where that is negative.

    Rows that are `elsewhere` are held for others and count as nothing else.
    """
    rows = np.flatnonzero(group >= 0)
    in_group = group[rows]
    away = np.zeros(len(rows), np.bool_) if elsewhere is None else elsewhere[rows]
    counted = _counts(columns, rows, in_group, groups, away)
    means = _means(columns, rows[~away], in_group[~away], groups)
    power = _power(columns, rows, in_group, groups)
    return [Use(*three, *mean, *watts) for three, mean, watts in zip(counted, means, power, strict=True)]


def _counts(
    columns: GpuColumns, rows: Ints, group: Ints, groups: int, away: Bools
) -> list[tuple[Counts, Counts, Counts]]:
    """Whole GPUs, slices and both weighted, by group."""
    kind = np.where(away, _ELSEWHERE, columns.state[rows])
    shared = columns.is_shared[rows] & _IS_HELD[columns.state[rows]] & ~away
    is_slice, weight = columns.is_slice[rows], columns.weight[rows]
    whole = _table(group, groups, kind, shared, ~is_slice)
    slices = _table(group, groups, kind, shared, is_slice)
    weighted = _table(group, groups, kind, shared, np.ones(len(rows), np.bool_), weight)
    return [(one, two, three if two.total else one) for one, two, three in zip(whole, slices, weighted, strict=True)]


def _table(
    group: Ints, groups: int, kind: Ints, shared: Bools, chosen: Bools, weight: Floats | None = None
) -> list[Counts]:
    width = len(_KINDS)
    weights = None if weight is None else weight[chosen]
    counts = np.bincount(group[chosen] * width + kind[chosen], weights, groups * width).reshape(groups, width)
    sharing = chosen & shared
    shares = np.bincount(group[sharing], None if weight is None else weight[sharing], groups)
    totals = counts.sum(axis=1).tolist()
    return [
        Counts(total=total, shared=share, **dict(zip(_KINDS, row, strict=True)))
        for total, share, row in zip(totals, shares.tolist(), counts.tolist(), strict=True)
    ]


def _means(columns: GpuColumns, rows: Ints, group: Ints, groups: int) -> list[tuple[float | None, int, int]]:
    """Mean utilization of the held devices, over how many, of how many held ones, by group."""
    state, value, weight = columns.state[rows], columns.utilization[rows], columns.weight[rows]
    held = _IS_HELD[state]
    measured = held & (state != _UNMEASURED) & ~np.isnan(value)
    sums = np.bincount(group[measured], value[measured] * weight[measured], groups).tolist()
    weights = np.bincount(group[measured], weight[measured], groups).tolist()
    counts = (np.bincount(group[chosen], None, groups).tolist() for chosen in (measured, held))
    return [
        (total / weighed if weighed else None, devices, of)
        for total, weighed, devices, of in zip(sums, weights, *counts, strict=True)
    ]


def _power(columns: GpuColumns, rows: Ints, group: Ints, groups: int) -> list[tuple[float | None, int, int]]:
    """Watts of the measured cards, how many those are, and of how many, by group. Each card counts once."""
    width = int(columns.card.max(initial=0)) + 1
    cards, place = np.unique(group * width + columns.card[rows], return_inverse=True)
    watts = np.full(len(cards), np.nan)
    np.fmax.at(watts, place, columns.watts[rows])
    owner, known = cards // width, ~np.isnan(watts)
    sums = np.bincount(owner[known], watts[known], groups).tolist()
    counts = (np.bincount(each, None, groups).tolist() for each in (owner[known], owner))
    return [(total if some else None, some, of) for total, some, of in zip(sums, *counts, strict=True)]
