"""The columns of the detailed table, in their order: what each is made of. To add one, add a row."""

from __future__ import annotations

from dataclasses import dataclass

from data.metrics.registry import METRICS

UTILIZATION = "utilization"
GAP = "utilization_gap"


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """`metrics` are those that are added up to its value (several = a sum of what is there); `unit` as inside."""

    name: str
    label: str
    unit: str
    metrics: tuple[str, ...]
    help: str


def _own(name: str, label: str = "") -> MetricColumn:
    metric = METRICS[name]
    return MetricColumn(name, label or metric.label, metric.unit, (name,), metric.help)


def _link(name: str, label: str, what: str) -> MetricColumn:
    ways = (f"{name}_tx_bytes_per_second", f"{name}_rx_bytes_per_second")
    return MetricColumn(f"{name}_bytes_per_second", label, "bytes/s", ways, f"{what} traffic, sent and received.")


_ROWS = (
    MetricColumn(
        UTILIZATION,
        "UTIL",
        "ratio",
        ("gpu_utilization", "graphics_engine_activity"),
        f"{METRICS['gpu_utilization'].help} On MIG slices it is GR: {METRICS['graphics_engine_activity'].help}",
    ),
    _own("sm_activity"),
    MetricColumn(
        GAP,
        METRICS[GAP].label,
        "ratio",
        ("gpu_utilization", "sm_activity"),
        f"{METRICS[GAP].help} Over the hours in which both were measured; not of GR.",
    ),
    _own("sm_occupancy"),
    _own("tensor_activity"),
    _own("fp64_activity"),
    _own("fp32_activity"),
    _own("fp16_activity"),
    _own("dram_activity"),
    _link("nvlink", "NVLINK", "NVLink"),
    _link("pcie", "PCIE", "PCIe"),
    _own("gpu_memory_used_bytes"),
    _own("power_watts", "Power"),
)
COLUMNS: dict[str, MetricColumn] = {row.name: row for row in _ROWS}
