"""GPU-hours and where they went. Allocated = used + partly used + idle + not measured, in every sum."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class GpuHours:
    """GPU-hours of a period. `used` is None when nothing was measured, `idle` when idleness was not.

    `idle` is counted over `idle_measured` of the `measured` hours (a summary knows only means): where the two
    differ, `partly_used` may hold idle hours that nobody can tell apart.
    """

    allocated: float
    measured: float = 0.0
    used: float | None = None
    idle: float | None = None
    idle_measured: float = 0.0

    @property
    def not_measured(self) -> float:
        return self.allocated - self.measured

    @property
    def utilization(self) -> float | None:
        """Mean over the measured hours (ratio)."""
        return self.used / self.measured if self.used is not None and self.measured > 0 else None

    @property
    def wasted(self) -> float | None:
        """Measured and not used."""
        return None if self.used is None else max(0.0, self.measured - self.used)

    @property
    def partly_used(self) -> float | None:
        """The unused part of the hours in which the GPU did work."""
        return None if self.wasted is None else max(0.0, self.wasted - (self.idle or 0.0))

    @property
    def coverage(self) -> float | None:
        return self.measured / self.allocated if self.allocated > 0 else None

    @property
    def idle_coverage(self) -> float | None:
        return self.idle_measured / self.measured if self.measured > 0 else None

    def __add__(self, other: GpuHours) -> GpuHours:
        return GpuHours(
            self.allocated + other.allocated,
            self.measured + other.measured,
            _sum_known(self.used, other.used),
            _sum_known(self.idle, other.idle),
            self.idle_measured + other.idle_measured,
        )


NO_HOURS = GpuHours(0.0)


def gpu_hours(elapsed_seconds: float | None, devices: float | None) -> float | None:
    """Allocated devices (a MIG slice by its weight) x hours, suspended time left out; None where either is unknown."""
    if elapsed_seconds is None or devices is None:
        return None
    return max(0.0, devices) * max(0.0, elapsed_seconds) / HOUR


def device_hours(
    elapsed_seconds: float | None,
    *,
    measured_share: float | None,
    mean: float | None,
    idle: float | None,
    weight: float = 1.0,
) -> GpuHours | None:
    """Split the hours of one device.

    `measured_share` is the coverage (ratio, capped here), `mean` and `idle` its mean utilization and share of idle
    samples. A device without a mean is not measured; None without an elapsed time.
    """
    allocated = gpu_hours(elapsed_seconds, weight)
    if allocated is None:
        return None
    if mean is None or measured_share is None or measured_share <= 0:
        return GpuHours(allocated)
    measured = allocated * min(1.0, measured_share)
    used = measured * min(1.0, max(0.0, mean))
    if idle is None:
        return GpuHours(allocated, measured, used)
    # Idle samples may be a hair above 0 (idle_epsilon): the two together never exceed what was measured.
    idle_hours = min(measured * min(1.0, max(0.0, idle)), measured - used)
    return GpuHours(allocated, measured, used, idle_hours, measured)


def total_hours(parts: Iterable[GpuHours | None]) -> GpuHours:
    """Add up; None (not known) adds nothing."""
    total = NO_HOURS
    for part in parts:
        total = total + part if part is not None else total
    return total


def saved_gpu_hours(
    devices: float | None, time_limit_seconds: float | None, elapsed_seconds: float | None, *, share: float = 0.5
) -> float | None:
    """GPU-hours that a cancel saved: devices x max(0, share x time limit - elapsed at the cancel).

    None without a finite limit: nobody knows how long such a job would have run.
    """
    if devices is None or elapsed_seconds is None or time_limit_seconds is None or math.isinf(time_limit_seconds):
        return None
    return gpu_hours(max(0.0, share * time_limit_seconds - elapsed_seconds), devices)


def _sum_known(first: float | None, second: float | None) -> float | None:
    if first is None or second is None:
        return first if second is None else second
    return first + second
