"""Whether other signals speak against a utilization of 0 (a sensor that sticks)."""

from __future__ import annotations

from collections.abc import Mapping

from data.gpu_models import GpuModel

_RATIOS = {
    "graphics_engine_activity": "GR",
    "sm_activity": "SM",
    "tensor_activity": "TENSOR",
    "memory_copy_utilization": "memory copy",
}


def contradiction(
    values: Mapping[str, float | None],
    model: GpuModel | None,
    *,
    active_signal: float,
    active_power: float,
    is_slice: bool = False,
) -> str | None:
    """Name the signal (of one device and window, as means) that contradicts idleness; None = none does.

    `active_signal` is the ratio above which an activity is work, `active_power` the share above idle power.
    Power is the whole card's, so it says nothing about a slice.
    """
    for name, label in _RATIOS.items():
        value = values.get(name)
        if value is not None and value > active_signal:
            return label
    watts = values.get("power_watts")
    if model and watts is not None and not is_slice and watts > model.idle_watts * (1 + active_power):
        return "power"
    return None
