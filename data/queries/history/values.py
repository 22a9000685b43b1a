"""From sums to the values of a row. Pure; None = not measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from data.efficiency.hours import GpuHours
from data.history.columns import RATIO_METRICS
from data.queries.history.grouping import Sums
from data.queries.history.model import Value

JOULES_PER_KWH = 3.6e6
_COUNTS = ("jobs", "jobs_without_gpu_count", "jobs_apportioned")


def values_of(sums: Sums, total: Sums | None = None, columns: Iterable[str] | None = None) -> dict[str, Value]:
    """All values that the sums are enough for; only `columns` (and the GPU-hours) where they are given.

    `total` are the sums of the whole report.
    """
    hours = hours_of_sums(sums)
    whole = sums if total is None else total
    found: dict[str, Value] = {
        **{name: None if sums.get(name) is None else round(sums[name] or 0) for name in _COUNTS if name in sums},
        **_hours(sums, hours),
        "share": _ratio(hours.allocated, whole.get("gpu_hours_allocated")),
        **_means(sums, hours.allocated),
        **_hosts(sums),
        "failed_share": _ratio(sums.get("failed_hours"), hours.allocated),
        "cost": sums.get("cost"),
        "cost_coverage": _share(sums, "cost_hours", hours.allocated),
        "energy_kwh": _scaled(sums.get("energy_joules"), 1 / JOULES_PER_KWH),
        "energy_coverage": _share(sums, "energy_hours", hours.allocated),
    }
    if columns is None:
        return found
    kept = {*columns, *(name for name in found if name.startswith("gpu_hours_")), "jobs"}
    return {name: value for name, value in found.items() if name in kept}


def hours_of_sums(sums: Sums) -> GpuHours:
    return GpuHours(
        allocated=sums.get("gpu_hours_allocated") or 0.0,
        measured=sums.get("gpu_hours_measured") or 0.0,
        used=sums.get("gpu_hours_used"),
        idle=sums.get("gpu_hours_idle"),
        idle_measured=sums.get("gpu_hours_idle_measured") or 0.0,
    )


def _hours(sums: Sums, hours: GpuHours) -> dict[str, Value]:
    return {
        "gpu_hours_allocated": hours.allocated,
        "gpu_hours_measured": hours.measured,
        "gpu_hours_used": hours.used,
        "gpu_hours_partly_used": hours.partly_used,
        "gpu_hours_idle": hours.idle,
        "gpu_hours_idle_measured": hours.idle_measured,
        "gpu_hours_not_measured": hours.not_measured,
        "gpu_hours_wasted": hours.wasted,
        "device_hours": sums.get("device_hours"),
        "utilization": hours.utilization,
        "coverage": hours.coverage,
        "idle_coverage": hours.idle_coverage,
    }


def _means(sums: Sums, allocated: float) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name in (*RATIO_METRICS, "gpu_memory_used_bytes"):
        if f"{name}_hours" in sums:
            measured = sums.get(f"{name}_measured_hours")
            found[name] = _ratio(sums[f"{name}_hours"], measured)
            found[f"{name.removesuffix('_bytes')}_coverage"] = _share(sums, f"{name}_measured_hours", allocated)
    return found


def _hosts(sums: Sums) -> dict[str, Value]:
    return {
        "cpu_efficiency": _capped(_ratio(sums.get("cpu_seconds"), sums.get("core_seconds"))),
        "cpu_coverage": _share(sums, "core_seconds", sums.get("core_seconds_held")),
        "memory_efficiency": _capped(_ratio(sums.get("memory_used_byte_seconds"), sums.get("memory_byte_seconds"))),
        "memory_coverage": _share(sums, "memory_jobs", sums.get("jobs")),
    }


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or whole is None or whole <= 0 else part / whole


def _share(sums: Mapping[str, float | None], part: str, whole: float | None) -> float | None:
    """A coverage: 0 where nothing of a known whole was measured."""
    return _ratio(sums.get(part) or 0.0, whole) if part in sums else None


def _capped(ratio: float | None) -> float | None:
    """Rounding may carry a ratio a hair above 1."""
    return None if ratio is None else min(1.0, ratio)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
