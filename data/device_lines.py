"""Series of the devices of a node as lines to draw: gaps stay gaps. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from data.metrics.registry import METRICS
from data.model import Gpu, Series, Window

FALLBACK_INTERVAL_SECONDS = 60.0
_RAW_UP_TO_SECONDS = 5400.0
_MOST_POINTS = 360
_STEPS = (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 10_800.0)
_GAP_STEPS = 2.5
Place = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class Line:
    """The series of one device or card: `times` in seconds since 1970, `values` in the unit inside, None = a gap.

    Empty = not measured. `mean`, `least` and `most` are of the points shown. `measured` is the share of steps with a
    value; `metric` may be GR where UTIL was asked of a slice.
    """

    place: Place
    slice_profile: str | None
    metric: str
    times: tuple[float, ...] = ()
    values: tuple[float | None, ...] = ()
    mean: float | None = None
    least: float | None = None
    most: float | None = None
    measured: float = 0.0


def step_of(window: Window) -> float | None:
    """Seconds between two points; None = every sample."""
    if window.seconds <= _RAW_UP_TO_SECONDS:
        return None
    return next((step for step in _STEPS if window.seconds / step <= _MOST_POINTS), _STEPS[-1])


def place_of(gpu: Gpu) -> Place:
    """(index, slice): where a device is on its node."""
    index = gpu.device.index if gpu.device.index is not None else gpu.slurm_index
    return (index, gpu.device.slice_id or "")


def lines_of(metric: str, gpus: Sequence[Gpu], rows: Iterable[Series], step: float | None) -> tuple[Line, ...]:
    """One line per device, or per card where the metric is one of the whole card; those without samples are empty."""
    found: dict[tuple[str, Place], dict[float, float]] = defaultdict(dict)
    for row in rows:
        if row.device is not None:
            place = (row.device.index, row.device.slice_id or "")
            found[(row.metric, _shown_place(metric, place))].update(zip(row.times, row.values, strict=True))
    lines: dict[Place, Line] = {}
    for gpu in gpus:
        place = _shown_place(metric, place_of(gpu))
        profile = gpu.device.slice_profile if place[1] else None
        measured = "graphics_engine_activity" if metric == "gpu_utilization" and place[1] else metric
        if place not in lines or not lines[place].times:
            lines[place] = _line(Line(place, profile, measured), found.get((measured, place), {}), step)
    return tuple(lines.values())


def _shown_place(metric: str, place: Place) -> Place:
    return (place[0], "") if METRICS[metric].is_whole_card else place


def _line(empty: Line, points: Mapping[float, float], step: float | None) -> Line:
    if not points:
        return empty
    times = sorted(points)
    spacing = step or _median([later - earlier for earlier, later in pairwise(times)])
    shown_times = [times[0]]
    shown: list[float | None] = [points[times[0]]]
    gaps = 0.0
    for earlier, later in pairwise(times):
        if later - earlier > spacing * _GAP_STEPS:
            gaps += later - earlier - spacing
            shown_times.append(earlier + spacing / 2)
            shown.append(None)
        shown_times.append(later)
        shown.append(points[later])
    values = list(points.values())
    span = times[-1] - times[0] + spacing
    return replace(
        empty,
        times=tuple(shown_times),
        values=tuple(shown),
        mean=sum(values) / len(values),
        least=min(values),
        most=max(values),
        measured=1.0 - gaps / span if span else 1.0,
    )


def _median(distances: list[float]) -> float:
    return sorted(distances)[len(distances) // 2] if distances else FALLBACK_INTERVAL_SECONDS
