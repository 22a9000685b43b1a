"""Samples of many devices and jobs over a long time, in columns: raw, or added up per step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np

from data.metrics.grid import GridRun
from data.metrics.registry import METRICS
from data.simulation.chance import Floats, Ints
from data.simulation.energy import energy_at
from data.simulation.grid import INTERVAL
from data.simulation.hosts import HOST_METRICS, HostSpan, host_samples, host_spans, host_values
from data.simulation.sampling import batches, evaluate, sampled
from data.simulation.signals import ENERGY, NOT_ON_SLICES, Moment
from data.simulation.spans import Span, device_spans
from data.simulation.world import World

Names = frozenset[str] | None


def grid_runs(
    world: World,
    samples: Sequence[str],
    steps: Sequence[str],
    start: float,
    end: float,
    nodes: Names,
    step: float,
) -> Iterator[GridRun]:
    """Runs of the window's devices and, for host metrics, of its jobs on their nodes."""
    devices = [name for name in (*samples, *steps) if name not in HOST_METRICS]
    hosts = [name for name in (*samples, *steps) if name in HOST_METRICS]
    raw = frozenset(samples)
    if devices:
        every = device_spans(world, start, end, nodes=nodes)
        every.sort(key=lambda span: (span.unit.number, span.label or "", span.start))
        for spans in _batches(every):
            yield from _device_runs(world, spans, devices, raw, step)
    if hosts:
        for span in host_spans(world, start - 2 * INTERVAL, end, nodes=nodes):
            yield from _host_runs(world, span, hosts, raw, step, start)


def _batches(spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Parts that keep the spans of one (device, job) together."""
    groups = [list(group) for _, group in groupby(spans, key=lambda span: (span.unit.number, span.label))]
    for part in batches(groups, lambda group: sum(span.end - span.start for span in group)):
        yield [span for group in part for span in group]


def _device_runs(
    world: World, spans: Sequence[Span], names: Sequence[str], raw: frozenset[str], step: float
) -> Iterator[GridRun]:
    at, time = sampled(world, spans)
    if not len(at):
        return
    now = evaluate(world, spans, at, time)
    for name in names:
        values = _increases(world, spans, now) if name == ENERGY else now.value(name)
        yield from _runs(spans, at, time, values, name, None if name in raw else step)


def _runs(
    spans: Sequence[Span], at: Ints, time: Floats, values: Floats, name: str, step: float | None
) -> Iterator[GridRun]:
    """One run per (device, job) with samples; `at` never decreases, and a run's spans follow each other."""
    first = _changes(np.array([_owner(span) for span in spans], dtype=np.int64)[at])
    counts = None
    if step is not None:
        begins = np.floor(time / step) * step
        is_new = np.zeros(len(begins), dtype=np.bool_)
        is_new[first] = True
        is_new[1:] |= begins[1:] != begins[:-1]
        places = np.flatnonzero(is_new)
        counts = np.diff(np.append(places, len(at))).astype(np.float64)
        edges = (np.minimum.reduceat(values, places), np.maximum.reduceat(values, places))
        sums, time, first = np.add.reduceat(values, places), begins[places], np.searchsorted(places, first)
        at = at[places]
    else:
        sums, edges = values, (values, values)
    for begin, stop in pairwise([*first.tolist(), len(time)]):
        span, cut = spans[int(at[begin])], slice(begin, stop)
        if name in NOT_ON_SLICES and span.unit.device.is_slice:
            continue
        yield GridRun(
            name,
            span.machine.name,
            span.unit.device,
            span.label,
            time[cut],
            sums[cut],
            None if counts is None else counts[cut],
            *(None if counts is None else edge[cut] for edge in edges),
        )


def _owner(span: Span) -> int:
    """A number for (device, job)."""
    return span.unit.number * (1 << 40) + int(span.label or 0)


def _changes(values: Ints | Floats) -> Ints:
    """Places at which a value differs from the one before, the first one included."""
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))


def _increases(world: World, spans: Sequence[Span], now: Moment) -> Floats:
    """What the energy counter grew by up to each sample; 0 at the first of a run."""
    counter = energy_at(world, spans, now.at, now.time)
    grown = np.diff(counter, prepend=counter[:1])
    grown[_changes(now.at)] = 0.0
    return np.maximum(grown, 0.0)


def _host_runs(
    world: World, span: HostSpan, names: Sequence[str], raw: frozenset[str], step: float, start: float
) -> Iterator[GridRun]:
    """`span` begins a little before `start`: the first increase of a counter needs the sample before it."""
    every = host_samples(world, span)
    time = every[every >= start]
    if not len(time):
        return
    for name in names:
        values = host_values(span, name, time)
        if METRICS[name].is_counter:
            grown = np.diff(host_values(span, name, every))
            inside = every[1:] >= start
            yield GridRun(name, span.machine.name, None, span.label, every[1:][inside], grown[inside])
        elif name in raw:
            yield GridRun(name, span.machine.name, None, span.label, time, values)
        else:
            begins = np.floor(time / step) * step
            places = _changes(begins)
            yield GridRun(
                name,
                span.machine.name,
                None,
                span.label,
                begins[places],
                np.add.reduceat(values, places),
                np.diff(np.append(places, len(time))).astype(np.float64),
                np.minimum.reduceat(values, places),
                np.maximum.reduceat(values, places),
            )
