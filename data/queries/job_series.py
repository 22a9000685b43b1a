"""One metric of one job over time, per device: for plots. One read of the metrics a time, kept for half a minute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from data.errors import BadRequest, NotFound, SourceError
from data.idle_stretches import idle_stretches
from data.metrics.registry import METRICS
from data.model import Scope, Series, Viewer, Window
from data.queries.job_report import JobAnswer, job_answer
from data.queries.scope import may_see
from data.report import GpuUse, JobReport, UseSource
from data.sources import Sources

PLOTTED = ("gpu_utilization", "sm_activity", "gpu_memory_used_bytes", "power_watts")
MOST_SHOWN = 16
_MOST_POINTS = 720
_LEAST_POINTS = 120
_MOST_SAMPLES = 250_000


@dataclass(frozen=True, slots=True)
class DeviceSeries:
    """One device: `times` are seconds since the window's start, `values` in the metric's unit; a gap is an absent
    point. `idle` are the stretches (from, to) in which every point was idle. `metric` is what was read: GR stands in
    for UTIL on a slice. Without points the device was not measured."""

    gpu: GpuUse
    metric: str
    times: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    idle: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class JobSeries:
    """`devices` are the worst first, at most as many as asked for, of `total`. `failed` = the metrics did not
    answer."""

    metric: str
    window: Window | None
    step_seconds: float = 0.0
    devices: tuple[DeviceSeries, ...] = ()
    total: int = 0
    failed: bool = False


def job_series(
    viewer: Viewer,
    sources: Sources,
    job_id: str,
    metric: str = PLOTTED[0],
    at: datetime | None = None,
    most: int | None = MOST_SHOWN,
) -> JobSeries:
    """Answer with the series of a job's devices. Raises as `job_answer`, and BadRequest for a metric not plotted."""
    return series_of(viewer, sources, job_answer(viewer, sources, job_id, at), metric, most)


def series_of(
    viewer: Viewer, sources: Sources, answer: JobAnswer, metric: str, most: int | None = MOST_SHOWN
) -> JobSeries:
    """The series of an answer that the viewer was given; NotFound for one that they may not see."""
    if not may_see(viewer, answer.report.job):
        raise NotFound("There is no such job, or you may not see it")
    if metric not in PLOTTED:
        raise BadRequest(f"{metric!r} is not plotted", hint=f"Choose one of {', '.join(PLOTTED)}.")
    report = answer.report
    gpus = report.allocated_gpus
    window = _window(report)
    if window is None or not gpus or report.gpu_source in (UseSource.JS1, UseSource.SLURM):
        return JobSeries(metric, window, total=len(gpus))
    step = max(report.interval_seconds or 30.0, window.seconds / _points(len(gpus)))
    names = (metric, "graphics_engine_activity") if metric == "gpu_utilization" else (metric,)
    key = ("series", report.job.key, names, report.at)
    try:
        read = sources.recent.get(key, lambda: tuple(sources.metrics.series(names, window, _scope(report), step)))
    except SourceError:
        return JobSeries(metric, window, step, total=len(gpus), failed=True)
    shown = sorted(gpus, key=_worst_first)[:most]
    devices = tuple(_device(gpu, names, read, report, window, step) for gpu in shown)
    return JobSeries(metric, window, step, devices, len(gpus))


def _window(report: JobReport) -> Window | None:
    start = report.job.start_time
    end = min(report.job.end_time or report.at, report.at)
    return None if start is None or end <= start else Window(start, end)


def _points(devices: int) -> int:
    return max(_LEAST_POINTS, min(_MOST_POINTS, _MOST_SAMPLES // devices))


def _scope(report: JobReport) -> Scope:
    """By the job's own label where the metrics know it, which they do where a device was joined by it."""
    parts = report.components or (report,)
    labels = frozenset(name for part in parts for name in part.job.labels)
    if all(gpu.join is not None and gpu.join.value == "job_label" for gpu in report.allocated_gpus):
        return Scope(job_labels=labels)
    return Scope(labels, frozenset(node for part in parts for node in part.job.nodes))


def _worst_first(gpu: GpuUse) -> tuple[bool, float, float, str, int]:
    """Most idle first, then least used, in whole percent; what was not measured last; alike ones by their place."""
    use, index = gpu.utilization, gpu.device.index if gpu.device is not None else None
    idle = round(gpu.idle_share or 0.0, 2)
    return (use is None, -idle, round(use or 0.0, 2), gpu.node, -1 if index is None else index)


def _device(
    gpu: GpuUse, names: Sequence[str], read: Iterable[Series], report: JobReport, window: Window, step: float
) -> DeviceSeries:
    own = _own(gpu, read, report)
    name = next((name for name in _names(gpu, names) if name in own), names[0])
    if name not in own:
        return DeviceSeries(gpu, name)
    start, end = window.start.timestamp(), window.end.timestamp()
    points = [(time - start, value) for time, value in own[name] if start <= time <= end + step]
    times, values = tuple(time for time, _ in points), tuple(value for _, value in points)
    return DeviceSeries(gpu, name, times, values, idle_stretches(times, values, METRICS[name].idle_epsilon, step))


def _names(gpu: GpuUse, names: Sequence[str]) -> Sequence[str]:
    return names[::-1] if gpu.is_slice else names


def _own(gpu: GpuUse, read: Iterable[Series], report: JobReport) -> dict[str, list[tuple[float, float]]]:
    """The points of this device under this job's label or under none, by metric; never those of another job."""
    if gpu.device is None:
        return {}
    parts = report.components or (report,)
    labels = {name for part in parts for name in part.job.labels}
    found: dict[str, dict[float, float]] = {}
    for one in read:
        if one.device is not None and one.device.key == gpu.device.key and one.job_label in (*labels, None, ""):
            found.setdefault(one.metric, {}).update(zip(one.times, one.values, strict=True))
    return {metric: sorted(points.items()) for metric, points in found.items() if points}
