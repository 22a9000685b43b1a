"""Samples made up for attempts, and a metrics source that gives them in any cut of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from data.history.measure import AttemptUse, measure
from data.metrics.grid import Grid, GridRun
from data.metrics.registry import METRICS
from data.model import Device, Job, NodeDevices, Scope, Tres, Window
from settings import Settings

START = datetime(2026, 3, 28, 22, 13, 20, tzinfo=UTC)
INTERVAL = 30.0


def gpu(index: int, node: str = "n1", slice_id: str | None = None, profile: str | None = None) -> Device:
    return Device(
        node, index, f"gpu-{node}-{index}", slice_id=slice_id, slice_profile=profile, model="NVIDIA A100-SXM4-80GB"
    )


def job(number: int = 1, hours: float = 3.0, gpus: int = 1, *, start: datetime = START, **more: object) -> Job:
    end = start + timedelta(hours=hours)
    facts: dict[str, object] = {
        "cluster": "c",
        "job_id": number,
        "display_id": str(number),
        "state": "COMPLETED",
        "submit_time": start - timedelta(minutes=5),
        "start_time": start,
        "end_time": end,
        "elapsed_seconds": (end - start).total_seconds(),
        "nodes": ("n1",),
        "allocated": Tres(8, 1 << 34, 1, 8.0, gpus),
        "devices": (NodeDevices("n1", gpus, None, None, 8, 1 << 34),),
    }
    return Job(**{**facts, **more})  # type: ignore[arg-type]


@dataclass
class Sampled:
    """A metrics source over made-up series: (metric, device or node, label, times, values)."""

    series: list[tuple[str, Device | str, str | None, np.ndarray, np.ndarray]] = field(default_factory=list)
    interval: float = INTERVAL
    asked: list[Window] = field(default_factory=list)
    kind: str = "sampled"
    requests: int = 0

    def add(
        self, metric: str, device: Device | str, label: str | None, begin: float, values: Sequence[float]
    ) -> np.ndarray:
        times = begin + np.arange(len(values)) * self.interval
        self.series.append((metric, device, label, times, np.array(values, dtype=np.float64)))
        return times

    def grid(
        self,
        samples: Sequence[str],
        steps: Sequence[str],
        window: Window,
        scope: Scope | None = None,
        step_seconds: float = 300.0,
    ) -> Grid:
        self.requests += 1
        self.asked.append(window)
        start, end = window.start.timestamp(), window.end.timestamp()
        runs = []
        for metric, thing, label, times, values in self.series:
            inside = (times >= start) & (times < end)
            if metric in (*samples, *steps) and inside.any():
                is_raw = metric in samples or METRICS[metric].is_counter
                runs.append(_run(metric, thing, label, times[inside], values[inside], None if is_raw else step_seconds))
        exported = {metric for metric, *_ in self.series}
        missing = tuple(name for name in (*samples, *steps) if name not in exported)
        return Grid(window, tuple(runs), step_seconds, self.interval, missing=missing)


def _run(
    metric: str, thing: Device | str, label: str | None, times: np.ndarray, values: np.ndarray, step: float | None
) -> GridRun:
    node, device = (thing, None) if isinstance(thing, str) else (thing.node, thing)
    if step is None:
        return GridRun(metric, node, device, label, times, values)
    begins = np.floor(times / step) * step
    every = np.unique(begins)
    parts = [values[begins == begin] for begin in every]
    columns = [np.array([function(part) for part in parts], dtype=np.float64) for function in (sum, len, min, max)]
    return GridRun(metric, node, device, label, every, *columns)


def used(jobs: Sequence[Job], source: Sampled, **more: object) -> list[AttemptUse]:
    now = more.pop("now", max(one.end_time or START for one in jobs) + timedelta(hours=1))
    found = measure(jobs, source, now=now, settings=Settings(), **more)  # type: ignore[arg-type]
    return [found.uses[one.key] for one in jobs]


def total(use: AttemptUse, name: str) -> float:
    return float(np.nansum(use.hours.values[name]))
