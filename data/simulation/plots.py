"""Series of samples for plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from data.metrics.registry import METRICS
from data.model import Series
from data.simulation.chance import Floats
from data.simulation.energy import energy_at
from data.simulation.hosts import HOST_METRICS, host_samples, host_spans, host_values
from data.simulation.sampling import evaluate, sampled
from data.simulation.signals import ENERGY, NOT_ON_SLICES
from data.simulation.spans import Span, device_spans
from data.simulation.sums import Names
from data.simulation.world import World


def series_of(
    world: World, metrics: Sequence[str], window: tuple[float, float], labels: Names, nodes: Names, step: float | None
) -> Iterator[Series]:
    """One series per (metric, device, job label) or (metric, job, node) with a sample in the window."""
    devices = [name for name in metrics if name not in HOST_METRICS]
    hosts = [name for name in metrics if name in HOST_METRICS]
    if devices:
        yield from _device_series(world, devices, window, labels, nodes, step)
    for span in host_spans(world, *window, labels, nodes) if hosts else ():
        times = host_samples(world, span)
        for name in hosts if len(times) else ():
            points = _stepped(times, host_values(span, name, times), window[0], step, name)
            yield Series(name, span.machine.name, None, span.label, *points)


def _device_series(
    world: World, metrics: Sequence[str], window: tuple[float, float], labels: Names, nodes: Names, step: float | None
) -> Iterator[Series]:
    groups: dict[tuple[int, str | None], list[Span]] = {}
    for span in device_spans(world, *window, labels, nodes):
        groups.setdefault((span.unit.number, span.label), []).append(span)
    for spans in groups.values():
        spans.sort(key=lambda span: span.start)
        for name in metrics:
            span = spans[0]
            if name in NOT_ON_SLICES and span.unit.device.is_slice:
                continue
            times, values = device_points(world, spans, name)
            if len(times):
                points = _stepped(times, values, window[0], step, name)
                yield Series(name, span.machine.name, span.unit.device, span.label, *points)


def device_points(world: World, spans: Sequence[Span], metric: str) -> tuple[Floats, Floats]:
    """Times and values of all samples of spans of one device, in time order."""
    at, time = sampled(world, spans, xid=metric == "xid")
    if not len(time):
        return time, time
    if metric == ENERGY:
        units = np.full(len(time), spans[0].unit.number)
        return time, energy_at(world, units, [spans[0].machine.name] * len(time), time)
    return time, evaluate(world, spans, at, time).value(metric)


def _stepped(
    times: Floats, values: Floats, start: float, step: float | None, metric: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Samples as they are, or the mean of each step (the last value of a counter) at the step's end."""
    if step is None:
        return tuple(times.tolist()), tuple(values.tolist())
    number = np.floor((times - start) / step).astype(np.int64)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
    counts = np.diff(np.append(edges, len(times)))
    if METRICS[metric].is_counter:
        means = values[edges + counts - 1]
    else:
        means = np.add.reduceat(values, edges) / counts
    return tuple((start + (number[edges] + 1) * step).tolist()), tuple(means.tolist())
