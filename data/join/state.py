"""The one state of a GPU, from who holds it, what was measured on it and how its node is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from data.efficiency.signals import contradiction
from data.join.hardware import model_facts
from data.metrics.registry import METRICS
from data.model import GpuState, Node

_MOST = 1.001  # rounding in the exporter


@dataclass(frozen=True, slots=True)
class SignalLimits:
    """From where on another signal contradicts a UTIL of 0: a ratio, and a share of the model's idle power."""

    active_signal: float = 0.01
    active_power: float = 0.25


def activity(values: Mapping[str, float], is_slice: bool) -> tuple[float, float] | None:
    """Give (value, largest idle value) of UTIL, or of GR on a slice and where UTIL is absent; None = not measured.

    What is no ratio (NaN, below 0, above 1) is not measured.
    """
    name = "graphics_engine_activity" if is_slice or "gpu_utilization" not in values else "gpu_utilization"
    value = values.get(name)
    if value is None or not 0.0 <= value <= _MOST:
        return None
    return value, METRICS[name].idle_epsilon or 0.0


def signals_disagree(values: Mapping[str, float], model: str | None, is_slice: bool, limits: SignalLimits) -> bool:
    """Whether UTIL (or GR) says idle while another signal or the power says that work is done."""
    found = activity(values, is_slice)
    if found is None or found[0] > found[1]:
        return False
    facts = model_facts(model)
    signal = contradiction(
        values, facts, active_signal=limits.active_signal, active_power=limits.active_power, is_slice=is_slice
    )
    return signal is not None


def held_state(values: Mapping[str, float], is_slice: bool, disagree: bool) -> GpuState:
    """A held GPU is busy or idle by what was measured; contradictory signals count as not measured."""
    found = activity(values, is_slice)
    if found is None or disagree:
        return GpuState.UNMEASURED
    return GpuState.BUSY if found[0] > found[1] else GpuState.IDLE


def open_state(node: Node) -> GpuState:
    """The state of a GPU that nobody holds."""
    if node.state.bucket == "down" or node.state.base == "DOWN":
        return GpuState.DOWN
    if node.state.bucket == "unknown":
        return GpuState.HELD_UNKNOWN
    return GpuState.FREE if node.state.schedulable else GpuState.DRAINED
