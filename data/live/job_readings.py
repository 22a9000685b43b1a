"""What the metrics say of one job: a window for the parts that ran together, and how its utilization swings.

The budget is four requests to the metrics server: a window costs three, a series one, a window of host metrics one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from data.errors import CannotKnow
from data.live.asking import ask
from data.metrics.registry import METRICS
from data.model import Job, Scope, Series, Window, WindowReading
from data.protocols import MetricsSource

REPORT_METRICS = tuple(name for name, metric in METRICS.items() if not metric.is_derived)
HOST_METRICS = tuple(name for name in REPORT_METRICS if METRICS[name].is_host)
_SWING_METRICS = ("gpu_utilization", "graphics_engine_activity")
_TOGETHER = timedelta(seconds=30)  # parts of a het job start at once; their ends differ by their epilogs
_MOST_WINDOWS = 2
_MOST_POINTS = 2_000
_MOST_NODES_OF_SERIES = 16


@dataclass(frozen=True, slots=True)
class PartReading:
    """What was read for one part of a job; the same reading may be that of several parts."""

    reading: WindowReading | None = None
    series: tuple[Series, ...] = ()


def read_parts(
    metrics: MetricsSource, parts: Sequence[Job], moment: datetime, unknown: list[str]
) -> dict[str, PartReading]:
    """Read the metrics of each part that has run, by its display id; in words to `unknown` what could not be."""
    groups = _groups(parts, moment)
    if len(groups) > _MOST_WINDOWS:
        unknown.append("Parts of this job ran at very different times; only the metrics of some were read.")
    found: dict[str, PartReading] = {}
    for window, members in groups[:_MOST_WINDOWS]:
        reading = _reading(metrics, members, window, unknown)
        series = _series(metrics, members, reading) if reading is not None and len(groups) == 1 else ()
        found |= {part.display_id: PartReading(reading, series) for part in members}
    return found


def _groups(parts: Sequence[Job], moment: datetime) -> list[tuple[Window, list[Job]]]:
    """Parts by the time in which they ran. A common window is where all of them ran: never before a part's start or
    after its end, when its GPUs may be another job's."""
    groups: list[tuple[Window, list[Job]]] = []
    for part in parts:
        start, end = part.start_time, min(part.end_time or moment, moment)
        if start is None or end <= start:
            continue
        for place, (window, members) in enumerate(groups):
            common = Window(max(window.start, start), min(window.end, end))
            is_near = abs(window.start - start) < _TOGETHER and abs(window.end - end) < _TOGETHER
            if is_near and common.seconds > 0:
                groups[place] = (common, [*members, part])
                break
        else:
            groups.append((Window(start, end), [part]))
    return groups


def _reading(metrics: MetricsSource, parts: Sequence[Job], window: Window, unknown: list[str]) -> WindowReading | None:
    has_gpus = any(part.allocated.gpus != 0 or part.allocated.shards for part in parts)
    names = REPORT_METRICS if has_gpus else HOST_METRICS
    answer = ask(lambda: metrics.window(names, window, _scope(parts)))
    said = None
    if isinstance(answer.error, CannotKnow):
        said = f"Nothing was read from the metrics: {answer.error}."
    elif answer.error is not None:
        said = "The metrics server did not answer; the numbers are those that Slurm has, if any."
    if said is not None and said not in unknown:
        unknown.append(said)
    return answer.value


def _series(metrics: MetricsSource, parts: Sequence[Job], reading: WindowReading) -> tuple[Series, ...]:
    """The utilization of a small job, by its own label where the metrics know that; a failure costs only this."""
    scope = _scope(parts)
    labels, nodes = scope.job_labels or frozenset(), scope.nodes or frozenset()
    of_devices = [stat for stat in reading.stats if stat.device is not None]
    if not of_devices or len(nodes) > _MOST_NODES_OF_SERIES:
        return ()
    is_labeled = any(stat.job_label in labels for stat in of_devices)
    narrow = Scope(job_labels=labels) if is_labeled else Scope(nodes=nodes)
    step = max(reading.interval_seconds or 30.0, reading.window.seconds / _MOST_POINTS)
    return ask(lambda: tuple(metrics.series(_SWING_METRICS, reading.window, narrow, step))).value or ()


def _scope(parts: Sequence[Job]) -> Scope:
    labels = frozenset(name for part in parts for name in part.labels)
    return Scope(labels, frozenset(node for part in parts for node in part.nodes))
