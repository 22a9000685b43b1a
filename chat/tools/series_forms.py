"""A series in short: how it went from its first to its last third, and where it was idle. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chat.tools.answer import listed, moment, number
from chat.tools.forms import metric_key
from data.metrics.registry import METRICS
from data.queries.job_series import DeviceSeries, JobSeries

_MOST_STRETCHES = 6
# A change smaller than this share of the metric's range (ratios) or of its mean (others) is none.
_STEADY = 0.05


def series_form(job: str, found: JobSeries) -> dict[str, Any]:
    window = found.window
    return {
        "job": job,
        "metric": found.metric,
        "from_at": None if window is None else moment(window.start),
        "until_at": None if window is None else moment(window.end),
        "step_seconds": number(found.step_seconds),
        "did_not_answer": found.failed,
        "devices": listed(found.devices, _device, 16, found.total),
        "note": "Points are means over steps; the report's own means come from all raw samples.",
    }


def _device(one: DeviceSeries) -> dict[str, Any]:
    made: dict[str, Any] = {"device": one.gpu.label, "metric": one.metric, "points": len(one.values)}
    if not one.values:
        return made | {"trend": None}
    thirds = [_mean(part) for part in _thirds(one.values)]
    end = metric_key(one.metric).removeprefix(one.metric) or f"_{one.metric.rpartition('_')[2]}"
    return made | {
        "trend": _trend(thirds[0], thirds[-1], is_ratio=METRICS[one.metric].unit == "ratio"),
        f"first_third{end}": number(thirds[0]),
        f"middle_third{end}": number(thirds[1]),
        f"last_third{end}": number(thirds[2]),
        f"least{end}": number(min(one.values)),
        f"most{end}": number(max(one.values)),
        "idle_in_all_seconds": number(sum(end - start for start, end in one.idle)),
        "idle_stretches": listed(sorted(one.idle, key=_length, reverse=True), _stretch, _MOST_STRETCHES),
    }


def _thirds(values: Sequence[float]) -> tuple[Sequence[float], ...]:
    size = max(1, len(values) // 3)
    return values[:size], values[size:-size] or values, values[-size:]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _trend(first: float, last: float, *, is_ratio: bool) -> str:
    size = 1.0 if is_ratio else max(abs(first), abs(last))
    if abs(last - first) <= _STEADY * size:
        return "steady"
    return "rising" if last > first else "falling"


def _length(stretch: tuple[float, float]) -> float:
    return stretch[1] - stretch[0]


def _stretch(one: tuple[float, float]) -> dict[str, Any]:
    return {"from_start_seconds": number(one[0]), "length_seconds": number(one[1] - one[0])}
