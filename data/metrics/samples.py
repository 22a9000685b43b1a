"""Raw samples in numpy: filtering, joining and adding up, without interpolation anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data.metrics.registry import Metric
from data.metrics.values import Floats

Millis = NDArray[np.int64]
# Two series of one thing (two Prometheus servers, a restarted exporter) must not count a moment twice.
_SAME_MOMENT = 0.5


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples of one thing in time order: milliseconds since 1970 and values in the metric's unit.

    `increase` is set for counters: what was added over the samples, resets included.
    """

    times: Millis
    values: Floats
    increase: float | None = None


def millis(seconds: Floats) -> Millis:
    return np.rint(seconds * 1000.0).astype(np.int64)


def counter(samples: Samples) -> Samples:
    """The increase from sample to sample; after a reset the new value counts whole."""
    steps = np.diff(samples.values)
    increase = np.where(steps < 0, samples.values[1:], steps).sum()
    return Samples(samples.times, samples.values, float(increase))


def joined(parts: Sequence[Samples], interval_seconds: float | None) -> Samples:
    """One run of samples out of several series of the same thing.

    Of samples at one moment the largest counts; a sample that comes less than half an interval after one of
    another series is its twin and is left out.
    """
    if len(parts) == 1:
        return parts[0]
    times = np.concatenate([part.times for part in parts])
    values = np.concatenate([part.values for part in parts])
    series = np.concatenate([np.full(len(part.times), number) for number, part in enumerate(parts)])
    order = np.lexsort((-values, times))
    times, values, series = times[order], values[order], series[order]
    least = (interval_seconds or 0.0) * 1000.0 * _SAME_MOMENT
    kept = []
    last_time, last_series = -(2**62), -1
    for place, (time, number) in enumerate(zip(times.tolist(), series.tolist(), strict=True)):
        if time > last_time and (number == last_series or time - last_time >= least):
            kept.append(place)
            last_time, last_series = time, number
    return Samples(times[kept], values[kept])


def added(parts: Sequence[Samples], *, optional: Sequence[bool] = ()) -> Samples:
    """Sums at the moments that every part has; parts marked optional add what they have."""
    needed = [part for position, part in enumerate(parts) if not (optional and optional[position])]
    times = needed[0].times
    for part in needed[1:]:
        times = np.intersect1d(times, part.times)
    total = np.zeros(len(times))
    for part in parts:
        known, here, there = np.intersect1d(times, part.times, return_indices=True)
        del known
        total[here] += part.values[there]
    return Samples(times, total)


def idle_count(values: Floats, metric: Metric) -> int:
    """Samples that count as idle; 0 for metrics from which idleness is not read."""
    return 0 if metric.idle_epsilon is None else int(np.count_nonzero(values <= metric.idle_epsilon))


def binned(samples: Samples, start: int, step: int) -> Samples:
    """Means per step from `start` on, at the begin of each step; a step without a sample has no point."""
    if not len(samples.times):
        return samples
    places = (samples.times - start) // step
    steps, where, counts = np.unique(places, return_inverse=True, return_counts=True)
    sums = np.bincount(where, weights=samples.values)
    return Samples(start + steps * step, sums / counts)
