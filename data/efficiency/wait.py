"""How long jobs waited, by how many GPUs they asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles

GPU_CLASSES = ("no GPU", "1 GPU", "2-4 GPUs", "5-8 GPUs", "more than 8 GPUs")
_UPPER = (0, 1, 4, 8)


@dataclass(frozen=True, slots=True)
class WaitStats:
    """Waits of one class, in seconds; p50 and p90 are None without a wait."""

    gpu_class: str
    jobs: int
    p50_seconds: float | None
    p90_seconds: float | None


def wait_seconds(start: datetime | None, eligible: datetime | None) -> float | None:
    """Seconds from eligible to start of one attempt; None where either is unknown or they are the wrong way round."""
    if start is None or eligible is None or start < eligible:
        return None
    return (start - eligible).total_seconds()


def gpu_class(gpus: int | None) -> str | None:
    """Name the class of a GPU count; None where the count is not known."""
    if gpus is None:
        return None
    return next((name for name, upper in zip(GPU_CLASSES, _UPPER, strict=False) if gpus <= upper), GPU_CLASSES[-1])


def wait_stats(waits: Iterable[tuple[int | None, float | None]]) -> tuple[WaitStats, ...]:
    """Sum up (GPU count, wait in seconds) by class, in the order of GPU_CLASSES; classes without a wait are kept."""
    by_class: dict[str, list[float]] = {name: [] for name in GPU_CLASSES}
    for gpus, seconds in waits:
        name = gpu_class(gpus)
        if name is not None and seconds is not None:
            by_class[name].append(seconds)
    return tuple(
        WaitStats(name, len(values), percentile(values, 50), percentile(values, 90))
        for name, values in by_class.items()
    )


def percentile(values: list[float], percent: int) -> float | None:
    """Percentile 1..99 by linear interpolation; None of nothing."""
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=100, method="inclusive")[percent - 1]
