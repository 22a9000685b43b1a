"""Exact sums over all samples of a window, per (device, job) and per (job, node)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.metrics.registry import METRICS
from data.model import WindowStat
from data.simulation.chance import Floats, Ints
from data.simulation.energy import EnergyMeter, energy_at
from data.simulation.hosts import host_samples, host_spans, host_values
from data.simulation.sampling import add_up, batches, evaluate, sampled
from data.simulation.signals import ENERGY, NOT_ON_SLICES
from data.simulation.spans import Span, device_spans
from data.simulation.world import World

Names = frozenset[str] | None
_Key = tuple[str, int | str, str | None]


class _Sums:
    """Adds the spans of one (metric, device, job) together: a job may have come back to a device."""

    def __init__(self) -> None:
        self.found: dict[_Key, WindowStat] = {}

    def add(self, key: _Key, stat: WindowStat) -> None:
        old = self.found.get(key)
        if old is not None:
            idle = None if old.idle_count is None or stat.idle_count is None else old.idle_count + stat.idle_count
            stat = WindowStat(
                stat.metric,
                stat.node,
                stat.device,
                stat.job_label,
                old.sum + stat.sum,
                old.count + stat.count,
                min(old.minimum, stat.minimum),
                max(old.maximum, stat.maximum),
                idle,
            )
        self.found[key] = stat


def device_stats(
    world: World, metrics: Sequence[str], start: float, end: float, labels: Names, nodes: Names
) -> list[WindowStat]:
    """One row per (metric, device, job label) that has a sample; label None while nobody held the device."""
    sums = _Sums()
    every = device_spans(world, start, end, labels, nodes)
    every.sort(key=lambda span: span.machine.name)
    for spans in batches(every, lambda span: span.end - span.start):
        for xid in (False, True):
            names = [name for name in metrics if (name == "xid") == xid]
            if names:
                _add_batch(sums, world, spans, names, start, end, xid=xid)
    return list(sums.found.values())


def _add_batch(
    sums: _Sums, world: World, spans: Sequence[Span], names: Sequence[str], start: float, end: float, *, xid: bool
) -> None:
    at, time = sampled(world, spans, xid=xid)
    now = evaluate(world, spans, at, time)
    for name in names:
        values = energy_at(world, spans, at, time) if name == ENERGY else now.value(name)
        stats = add_up(at, values, METRICS[name].idle_epsilon)
        totals = _grown(world, spans, stats.rows, start, end) if name == ENERGY else stats.sum
        rows = zip(stats.rows.tolist(), totals.tolist(), stats.count.tolist(), strict=True)
        edges = zip(stats.minimum.tolist(), stats.maximum.tolist(), stats.idle.tolist(), strict=True)
        for (row, total, count), (low, high, idle) in zip(rows, edges, strict=True):
            span = spans[row]
            if name in NOT_ON_SLICES and span.unit.device.is_slice:
                continue
            stat = WindowStat(name, span.machine.name, span.unit.device, span.label, total, count, low, high, idle)
            sums.add((name, span.unit.number, span.label), stat)


def _grown(world: World, spans: Sequence[Span], rows: Ints, start: float, end: float) -> Floats:
    """Joules that each span used within the window."""
    meter = EnergyMeter(world, frozenset(span.machine.name for span in spans), start, end)
    chosen = [spans[row] for row in rows.tolist()]
    units = np.array([span.unit.number for span in chosen], dtype=np.int64)
    first, last = (np.array([getattr(span, edge) for span in chosen]) for edge in ("start", "end"))
    return meter.read(units, last) - meter.read(units, first)


def host_stats(
    world: World, metrics: Sequence[str], start: float, end: float, labels: Names, nodes: Names
) -> list[WindowStat]:
    """One row per (metric, job, node) that has a sample; `cpu_seconds` sums up to what the job used in the window."""
    sums = _Sums()
    for span in host_spans(world, start, end, labels, nodes):
        times = host_samples(world, span)
        if not len(times):
            continue
        for name in metrics:
            values = host_values(span, name, times)
            total = float(values.sum())
            if METRICS[name].is_counter:
                edges = host_values(span, name, np.array([span.start, span.end]))
                total = float(edges[1] - edges[0])
            low, high = float(values.min()), float(values.max())
            stat = WindowStat(name, span.machine.name, None, span.label, total, len(times), low, high, 0)
            sums.add((name, span.machine.name, span.label), stat)
    return list(sums.found.values())
