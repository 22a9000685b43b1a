"""Series of samples for plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from data.metrics.registry import METRICS
from data.model import Series
from data.simulation.chance import Floats
from data.simulation.energy import energy_at
from data.simulation.hosts import HOST_METRICS, host_samples, host_spans, host_values
from data.simulation.sampling import batches, evaluate, sampled
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
    groups = series_spans(world, *window, labels, nodes)
    for name in metrics:
        for spans, times, values in series_points(world, groups, name):
            points = _stepped(times, values, window[0], step, name)
            yield Series(name, spans[0].machine.name, spans[0].unit.device, spans[0].label, *points)


def series_spans(world: World, start: float, end: float, labels: Names, nodes: Names) -> list[list[Span]]:
    """Spans that make one series each: the same device and job label, which may come back; node after node."""
    groups: dict[tuple[int, str | None], list[Span]] = {}
    for span in device_spans(world, start, end, labels, nodes):
        groups.setdefault((span.unit.number, span.label), []).append(span)
    for spans in groups.values():
        spans.sort(key=lambda span: span.start)
    return [groups[key] for key in sorted(groups, key=lambda key: (key[0], key[1] or ""))]


def series_points(
    world: World, groups: Sequence[list[Span]], metric: str
) -> Iterator[tuple[list[Span], Floats, Floats]]:
    """(spans, times, values) of every series that has a sample of the metric, evaluated in large batches."""
    if metric in NOT_ON_SLICES:
        groups = [spans for spans in groups if not spans[0].unit.device.is_slice]
    for batch in batches(groups, lambda spans: spans[-1].end - spans[0].start):
        flat = [span for spans in batch for span in spans]
        owner = np.repeat(np.arange(len(batch)), [len(spans) for spans in batch])
        at, time = sampled(world, flat, xid=metric == "xid")
        values = energy_at(world, flat, at, time) if metric == ENERGY else evaluate(world, flat, at, time).value(metric)
        edges = np.searchsorted(owner[at], np.arange(len(batch) + 1)).tolist()
        for spans, first, last in zip(batch, edges, edges[1:], strict=False):
            if last > first:
                yield spans, time[first:last], values[first:last]


def _stepped(
    times: Floats, values: Floats, start: float, step: float | None, metric: str
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Samples as they are, or the mean of each step (the last value of a counter) at the step's end."""
    if step is None:
        return tuple(times.tolist()), tuple(values.tolist())
    number = np.floor((times - start) / step).astype(np.int64)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1])
    counts = np.diff(np.append(edges, len(times)))
    is_counter = METRICS[metric].is_counter
    shown = values[edges + counts - 1] if is_counter else np.add.reduceat(values, edges) / counts
    return tuple((start + (number[edges] + 1) * step).tolist()), tuple(shown.tolist())
