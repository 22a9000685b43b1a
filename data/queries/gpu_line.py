"""UTIL of one GPU over an hour, for the card on the map. One question to the metrics a node and minute."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from data.errors import FullwarpError
from data.model import Device, Scope, Series, Viewer, Window
from data.sources import Sources

SPAN, STEP = timedelta(minutes=60), 60.0
AT_ONCE = 4
_GATE = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True)
class GpuLine:
    """Means per minute, the oldest first; None = not measured. `why` says in words what stopped it."""

    label: str
    values: tuple[float | None, ...] = ()
    why: str = ""


def gpu_line(viewer: Viewer, sources: Sources, node: str, gpu: str, at: datetime | None = None) -> GpuLine:
    """The hour up to now or `at` of the device `gpu` ("3", or "3/7" for a slice) on a node of the cluster.

    Utilization of devices is for every viewer. A node that does not exist has no values. Raises nothing.
    """
    end = (at or sources.clock()).astimezone(UTC).replace(second=0, microsecond=0)
    label = "GR" if "/" in gpu else "UTIL"
    try:
        if node not in {one.name for one in sources.live.snapshot().nodes}:
            return GpuLine(label)
        found = sources.recent.get(("gpu lines", node, end), lambda: _lines(sources, node, end))
    except FullwarpError:
        return GpuLine(label, why="The metrics server did not answer.")
    return GpuLine(label, found.get(gpu, ()))


def _lines(sources: Sources, node: str, end: datetime) -> dict[str, tuple[float | None, ...]]:
    window = Window(end - SPAN, end)
    metrics = ("gpu_utilization", "graphics_engine_activity")
    with _GATE:
        series = list(sources.metrics.series(metrics, window, Scope(nodes=frozenset({node})), STEP))
    found: dict[str, list[float | None]] = {}
    for one in series:
        device = one.device
        if device is None or one.node != node or (one.metric == metrics[1]) != device.is_slice:
            continue
        _put(found.setdefault(_label(device), [None] * round(SPAN.total_seconds() / STEP)), one, window)
    return {label: tuple(values) for label, values in found.items()}


def _label(device: Device) -> str:
    index = "?" if device.index is None else str(device.index)
    return f"{index}/{device.slice_id}" if device.slice_id else index


def _put(values: list[float | None], one: Series, window: Window) -> None:
    """Of several series of one device (a job after another, or two at a time) the larger value counts."""
    start = window.start.timestamp()
    for time, value in zip(one.times, one.values, strict=True):
        at = math.ceil((time - start) / STEP) - 1
        if 0 <= at < len(values):
            known = values[at]
            values[at] = value if known is None else max(known, value)
