"""A metric's value as people read it: unit for the head, number for the cell. One place for every page."""

from __future__ import annotations

from dataclasses import dataclass

from data.metrics.registry import METRICS, Metric
from data.words import number

DASH = "–"


@dataclass(frozen=True, slots=True)
class Shown:
    """How a metric is written: `factor` brings the unit inside to `unit`; `high` ends an axis, None = as it comes."""

    unit: str
    factor: float = 1.0
    decimals: int = 0
    high: float | None = None


_BY_UNIT = {
    "ratio": Shown("%", 100.0, high=100.0),
    "bytes": Shown("GiB", 1 / (1 << 30), 1),
    "watts": Shown("W"),
    "celsius": Shown("°C"),
    "hertz": Shown("MHz", 1e-6),
    "bytes/s": Shown("GB/s", 1e-9, 2),
    "code": Shown("code"),
}
_LABELS = {"power_watts": "Power", "temperature_celsius": "Temp", "gpu_memory_total_bytes": "MEM TOTAL"}


def shown(metric: Metric) -> Shown:
    return _BY_UNIT.get(metric.unit, Shown(metric.unit))


def label(name: str) -> str:
    """The metric's name on screen: its registry spelling, in words where that is a unit alone."""
    return _LABELS.get(name, METRICS[name].label)


def cell_text(name: str, value: float | None) -> str:
    """The number without its unit; a dash where nothing was measured."""
    if value is None:
        return DASH
    form = shown(METRICS[name])
    size = value * form.factor
    if METRICS[name].unit == "ratio":
        return number(size, 1 if 0 < abs(size) < 9.95 else 0)
    return number(size, min(form.decimals, 2 if abs(size) < 9.995 else 1 if abs(size) < 99.95 else 0))


def value_text(name: str, value: float | None) -> str:
    """The number with its unit; "not measured" in words."""
    if value is None:
        return "not measured"
    unit = shown(METRICS[name]).unit
    return cell_text(name, value) if unit == "code" else f"{cell_text(name, value)} {unit}"
