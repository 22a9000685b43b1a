"""The diagnosis of one row of detailed metrics: of a device, or of a job's means. A row can have several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from data.efficiency import contradiction
from data.gpu_models import GpuModel
from data.report import Swing
from settings import FindingLimits


@dataclass(frozen=True, slots=True)
class MetricRow:
    """Means by metric name (absent or None = not measured), and what else a diagnosis needs.

    `utilization` is UTIL, or GR on a slice; `cpu_utilization` the job's; `gpu_count` the job's.
    """

    values: Mapping[str, float | None]
    utilization: float | None
    idle_share: float | None = None
    model: GpuModel | None = None
    gpu_count: int | None = None
    cpu_utilization: float | None = None
    swing: Swing | None = None
    is_slice: bool = False

    @property
    def reads_idle(self) -> bool:
        return self.utilization is not None and (self.utilization == 0 or self.idle_share == 1)

    def at_least(self, metric: str, limit: float) -> bool:
        value = self.values.get(metric)
        return value is not None and value >= limit

    def below(self, metric: str, limit: float) -> bool:
        value = self.values.get(metric)
        return value is not None and value < limit


def is_idle(row: MetricRow, limits: FindingLimits) -> bool:
    """UTIL is 0 (or every sample idle), and no other signal says otherwise."""
    return row.reads_idle and disagreement(row, limits) is None


def disagreement(row: MetricRow, limits: FindingLimits) -> str | None:
    """The signal that contradicts a UTIL of 0, by name."""
    return contradiction(
        row.values,
        row.model,
        active_signal=limits.active_signal,
        active_power=limits.active_power,
        is_slice=row.is_slice,
    )


def is_input_bound(row: MetricRow, limits: FindingLimits) -> bool:
    use, cpu, swing = row.utilization, row.cpu_utilization, row.swing
    if use is None or row.reads_idle or use >= limits.input_utilization:
        return False
    share = limits.swing_share
    swings = swing is not None and swing.low_share >= share and swing.high_share >= share
    return swings or (cpu is not None and cpu >= limits.input_cpu)


def has_small_kernels(row: MetricRow, limits: FindingLimits) -> bool:
    return _looks_busy(row, limits) and row.below("sm_activity", limits.small_kernels_sm)


def has_low_occupancy(row: MetricRow, limits: FindingLimits) -> bool:
    return row.at_least("sm_activity", limits.occupancy_sm) and row.below("sm_occupancy", limits.occupancy_low)


def leaves_tensor_cores(row: MetricRow, limits: FindingLimits) -> bool:
    if row.model is None or not row.model.has_tensor_cores or not _looks_busy(row, limits):
        return False
    unused = row.below("tensor_activity", limits.tensor_unused)
    return unused and row.below("fp64_activity", limits.tensor_fp64)


def is_double_precision(row: MetricRow, limits: FindingLimits) -> bool:
    is_weak = row.model is not None and row.model.has_weak_fp64
    return is_weak and row.at_least("fp64_activity", limits.double_precision)


def is_memory_bound(row: MetricRow, limits: FindingLimits) -> bool:
    is_high = row.at_least("dram_activity", limits.memory_bound_dram)
    return is_high and row.below("tensor_activity", limits.memory_bound_tensor)


def is_communication_bound(row: MetricRow, limits: FindingLimits) -> bool:
    if row.gpu_count is None or row.gpu_count < 2 or row.model is None:
        return False
    share = link_share(row)
    return (
        row.below("sm_activity", limits.communication_sm) and share is not None and share >= limits.communication_link
    )


def link_share(row: MetricRow) -> float | None:
    """The busiest link direction as a share of the model's peak; None where neither is known."""
    if row.model is None:
        return None
    peaks = {"nvlink": row.model.nvlink_bytes_per_second, "pcie": row.model.pcie_bytes_per_second}
    shares = [
        value / peak
        for link, peak in peaks.items()
        for way in ("tx", "rx")
        if peak > 0 and (value := row.values.get(f"{link}_{way}_bytes_per_second")) is not None
    ]
    return max(shares, default=None)


DIAGNOSES: dict[str, Callable[[MetricRow, FindingLimits], bool]] = {
    "idle": is_idle,
    "input_bound": is_input_bound,
    "small_kernels": has_small_kernels,
    "low_occupancy": has_low_occupancy,
    "no_tensor_cores": leaves_tensor_cores,
    "double_precision": is_double_precision,
    "memory_bound": is_memory_bound,
    "communication_bound": is_communication_bound,
}


def diagnose(row: MetricRow, limits: FindingLimits) -> tuple[str, ...]:
    """The ids of all diagnoses that hold for a row; () also where nothing was measured."""
    return tuple(name for name, holds in DIAGNOSES.items() if holds(row, limits))


def _looks_busy(row: MetricRow, limits: FindingLimits) -> bool:
    return row.utilization is not None and row.utilization >= limits.busy_utilization
