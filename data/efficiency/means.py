"""Means that say of how many they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of `measured` out of `total` things; `value` is None when nothing was measured.

    `low` and `high` bound it: the unmeasured taken as the least (0) and the most that they can be.
    `total` None = their number is not known.
    """

    value: float | None
    measured: int
    total: int | None
    low: float | None = None
    high: float | None = None

    @property
    def is_partial(self) -> bool:
        """Whether some of the things were not measured, or their number is not known."""
        return self.total is None or self.measured < self.total


NOTHING = Mean(None, 0, None)


def device_mean(total: float, count: int) -> float | None:
    """Mean of raw samples: their sum by their number; None without samples."""
    return total / count if count > 0 and math.isfinite(total) else None


def job_mean(device_means: Sequence[float | None], *, total: int | None = None, most: float | None = 1.0) -> Mean:
    """Plain mean of the means of measured devices (None = not measured).

    `total` is how many devices there are (default: as many as given; never fewer than measured); `most` the
    largest possible value for the upper bound (None = no bound).
    """
    known = [value for value in device_means if value is not None]
    count = max(len(known), len(device_means) if total is None else total)
    if not known:
        return Mean(None, 0, count)
    missing = count - len(known)
    low = sum(known) / count
    high = None if most is None else (sum(known) + missing * most) / count
    return Mean(sum(known) / len(known), len(known), count, low, high)


def weighted_mean(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Mean of (value, weight), such as (job mean, measured GPU-hours); unknown values and weights are left out."""
    kept = [(value, weight) for value, weight in pairs if value is not None and weight is not None and weight > 0]
    weights = sum(weight for _, weight in kept)
    return sum(value * weight for value, weight in kept) / weights if kept else None


def utilization_gap(utilization: float | None, sm_activity: float | None) -> float | None:
    """UTIL minus SM (-1..1): large = a GPU that looks busy and is mostly empty; None where either is not measured."""
    return None if utilization is None or sm_activity is None else utilization - sm_activity


def idle_share(idle_count: int | None, count: int) -> float | None:
    """Share of samples that were idle (ratio); None without samples or where idleness is not counted."""
    if idle_count is None or count <= 0:
        return None
    return min(1.0, max(0.0, idle_count / count))
