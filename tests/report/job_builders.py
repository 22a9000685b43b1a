"""Builders of jobs and window readings for tests of reports and findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from data.model import Device, Job, NodeDevices, Series, Tres, Window, WindowReading, WindowStat

START = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
INTERVAL = 30.0
GIB = 1 << 30
HOUR = 3600.0


def a_job(
    *,
    hours: float = 5.0,
    gpus: int | None = 8,
    nodes: Iterable[str] = ("h014",),
    per_node: int | None = None,
    gpu_type: str | None = "h100",
    cpus: int = 96,
    memory_gib: float = 1000,
    state: str = "COMPLETED",
    indices: bool = False,
    **more: Any,
) -> Job:
    """A job of `hours` on `nodes`, with the same number of GPUs on each (or `per_node`)."""
    names = tuple(nodes)
    share = per_node if per_node is not None else (gpus or 0) // len(names)
    devices = tuple(
        NodeDevices(
            name,
            gpu_count=None if gpus is None else share,
            gpu_indices=tuple(range(share)) if indices else None,
            gpu_type=gpu_type if gpus else None,
            cpus=cpus // len(names),
            memory_bytes=int(memory_gib * GIB) // len(names),
        )
        for name in names
    )
    end = None if state == "RUNNING" else START + timedelta(hours=hours)
    by_type = {gpu_type: gpus} if gpus and gpu_type else {}
    tres = Tres(cpus=cpus, memory_bytes=int(memory_gib * GIB), nodes=len(names), gpus=gpus, gpus_by_type=by_type)
    fields: dict[str, Any] = {
        "cluster": "larch",
        "job_id": 48211,
        "display_id": "48211",
        "state": state,
        "user": "hnguyen",
        "submit_time": START - timedelta(hours=1),
        "start_time": START,
        "end_time": end,
        "elapsed_seconds": None if end is None else hours * HOUR,
        "time_limit_seconds": 24 * HOUR,
        "nodes": names,
        "devices": devices,
        "allocated": tres,
    }
    return Job(**(fields | more))


def a_gpu(index: int, node: str = "h014", **more: Any) -> Device:
    fields: dict[str, Any] = {"index": index, "uuid": f"gpu-{node}-{index}", "model": "NVIDIA H100 80GB HBM3"}
    return Device(node, **(fields | more))


def gpu_stats(
    device: Device,
    means: Mapping[str, float],
    *,
    hours: float = 5.0,
    label: str | None = "48211",
    coverage: float = 1.0,
    idle: float | None = None,
    maxima: Mapping[str, float] | None = None,
) -> list[WindowStat]:
    """Statistics of one device: `means` by metric, the same for every sample unless `idle` samples are 0."""
    count = round(hours * HOUR / INTERVAL * coverage)
    stats = []
    for metric, mean in means.items():
        share = idle if idle is not None else float(mean == 0)
        top = (maxima or {}).get(metric, mean)
        stats.append(
            WindowStat(metric, device.node, device, label, mean * count, count, 0.0, top, round(share * count))
        )
    return stats


def host_stats(
    node: str, *, cores: float, busy: float, peak_gib: float, given_gib: float, hours: float = 5.0, label: str = "48211"
) -> list[WindowStat]:
    """Host statistics: `busy` cores on average, memory in GiB."""
    count = round(hours * HOUR / INTERVAL)
    values = {
        "cpu_seconds": (busy * hours * HOUR, 0.0),
        "memory_used_bytes": (peak_gib * GIB * count, peak_gib * GIB),
        "memory_allocated_bytes": (given_gib * GIB * count, given_gib * GIB),
        "allocated_cores": (cores * count, cores),
    }
    return [WindowStat(name, node, None, label, total, count, 0.0, top, 0) for name, (total, top) in values.items()]


def a_reading(
    *stats: Iterable[WindowStat], hours: float = 5.0, start: datetime = START, interval: float | None = INTERVAL
) -> WindowReading:
    window = Window(start, start + timedelta(hours=hours))
    return WindowReading(window, tuple(stat for part in stats for stat in part), interval)


def a_series(device: Device, values: Iterable[float], metric: str = "gpu_utilization") -> Series:
    samples = tuple(values)
    times = tuple(START.timestamp() + INTERVAL * place for place in range(len(samples)))
    return Series(metric, device.node, device, "48211", times, samples)
