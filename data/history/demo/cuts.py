"""Samples of simulated attempts, cut without reading: who held which device when is known beforehand.

What `measure` reads chunk by chunk for all devices and then cuts, is laid out here attempt by attempt. The samples
are the same, and so are the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.history.measure.accumulate import Accumulated
from data.history.measure.attempts import HOSTS, SAMPLES, STEPS
from data.history.measure.pairs import OWN, Cut
from data.history.measure.spans import HOUR, Spans
from data.history.measure.sums import HourSums, starts
from data.history.measure.use import Bools, Floats, Ints
from data.metrics.grid import STEP_SECONDS
from data.metrics.registry import METRICS
from data.simulation import World
from data.simulation.grid import INTERVAL
from data.simulation.hosts import HostSpan, all_host_samples, all_host_values, host_sample_edges, host_spans_of
from data.simulation.laws import law_sums, memory_peaks
from data.simulation.sampling import batches, evaluate, sampled
from data.simulation.signals import NOT_ON_SLICES
from data.simulation.spans import NO_SPELL, Span, spans_of_jobs
from data.simulation.world import Ref

# Samples that are worked out at once: what fits into a processor's cache.
_AT_ONCE = 60_000


@dataclass(frozen=True, slots=True)
class _Held:
    attempt: int
    pair: int
    span: Span


def accumulate(
    read: Accumulated, world: World, refs: Mapping[int, Ref], hosts: Mapping[tuple[str, float], int]
) -> None:
    """Add up all samples of the attempts; `refs` by place in the spans of `read`, `hosts` by job label and begin."""
    spans = read.spans
    read.interval[:] = INTERVAL
    if not len(spans.jobs):
        return
    start, end = float(spans.start.min()), float(spans.end.max())
    held = _held(read, world, refs, start, end)
    lawful = [one for one in held if _has_laws(one, spans)]
    for part in batches(lawful, _seconds, _AT_ONCE):
        _add_by_laws(read, world, part)
    for part in batches([one for one in held if not _has_laws(one, spans)], _seconds, _AT_ONCE):
        read.take(_device_cuts(world, spans, part))
    if refs:
        found = host_spans_of(world, list(refs.values()), start, end)
        own = [(hosts[(span.label, span.begin)], span) for span in found]
        _add_hosts_by_laws(read, world, [one for one in own if one[0] not in spans.holes])
        read.take(_host_cuts(world, read, [one for one in own if one[0] in spans.holes]))


def _held(read: Accumulated, world: World, refs: Mapping[int, Ref], start: float, end: float) -> list[_Held]:
    """Every device of every attempt, cut to what is read of it."""
    spans, held = read.spans, []
    found = spans_of_jobs(world, list(refs.values()), start, end)
    for place, devices in zip(refs, found, strict=True):
        for span in devices:
            _fit(span, float(spans.start[place]), float(spans.end[place]))
            pair = read.pairs.number(place, span.machine.name, span.unit.device, OWN, span.label)
            held.append(_Held(place, pair, span))
    return held


def _has_laws(one: _Held, spans: Spans) -> bool:
    """Whether sums need no sample's value: not of slices, throttled cards and suspended jobs."""
    return not (one.span.unit.device.is_slice or one.span.hot != NO_SPELL or one.attempt in spans.holes)


def _fit(span: Span, start: float, end: float) -> None:
    """Cut a span to what is read of its attempt."""
    span.start, span.end = max(span.start, start), min(span.end, end)
    span.seen = tuple((max(a, start), min(b, end)) for a, b in span.seen if min(b, end) > max(a, start))


def _seconds(one: _Held) -> float:
    return one.span.end - one.span.start


def _add_by_laws(read: Accumulated, world: World, held: Sequence[_Held]) -> None:
    """Add up hour by hour; only the utilization is looked at sample by sample."""
    devices = [one.span for one in held]
    at, time = sampled(world, devices)
    if not len(at):
        return
    pair = np.array([one.pair for one in held], dtype=np.int64)[at]
    hour = np.floor(time / HOUR).astype(np.int64)
    first = starts(at, hour)
    counts = np.diff(np.append(first, len(at))).astype(np.float64)
    now = evaluate(world, devices, at, time)

    def rows(sums: Floats, idle: Floats, maxima: Floats) -> HourSums:
        return HourSums(pair[first], hour[first], sums, counts, idle, unread, maxima)

    unread, none = np.full(len(first), np.nan), np.zeros(len(first))
    for name in SAMPLES:
        values = now.value(name)
        idle = np.add.reduceat((values <= (METRICS[name].idle_epsilon or 0.0)).astype(np.float64), first)
        read.sums.add_hours(name, rows(np.add.reduceat(values, first), idle, unread))
    read.shapes.add(_cut(SAMPLES[0], pair, time, now.value(SAMPLES[0])), read.pairs)
    peaks = {"gpu_memory_used_bytes": memory_peaks(now, first), "gpu_memory_total_bytes": now.table.total[at[first]]}
    for name, sums in law_sums(now, first).items():
        read.sums.add_hours(name, rows(sums, none, peaks.get(name, unread)))


def _device_cuts(world: World, spans: Spans, held: Sequence[_Held]) -> Iterator[Cut]:
    devices = [one.span for one in held]
    at, time = sampled(world, devices)
    if not len(at):
        return
    pair = np.array([one.pair for one in held], dtype=np.int64)
    attempt = np.array([one.attempt for one in held], dtype=np.int64)[at]
    is_slice = np.array([span.unit.device.is_slice for span in devices], dtype=np.bool_)[at]
    outside = _suspended(spans, attempt, time, 0.0), _suspended(spans, attempt, time, STEP_SECONDS)
    now = evaluate(world, devices, at, time)
    for name in (*SAMPLES, *STEPS):
        is_raw = name in SAMPLES
        kept = ~outside[0 if is_raw else 1]
        if name in NOT_ON_SLICES:
            kept &= ~is_slice
        if kept.any():
            cut = _cut(name, pair[at], time, now.value(name), is_raw=is_raw)
            yield cut if kept.all() else cut.only(kept)


def _cut(name: str, pair: Ints, time: Floats, values: Floats, *, is_raw: bool = True) -> Cut:
    return Cut(name, pair, time, values, np.ones(len(time)), values, values, is_raw)


def _suspended(spans: Spans, attempt: Ints, time: Floats, step: float) -> Bools:
    """Samples taken while suspended; with steps, those of every step that the suspension touches."""
    found = np.zeros(len(time), dtype=np.bool_)
    for place in spans.holes.keys() & set(attempt[starts(attempt)].tolist()):
        mine = np.flatnonzero(attempt == place)
        begin = np.floor(time[mine] / step) * step if step else time[mine]
        for low, high in spans.holes[place]:
            found[mine] |= (begin + step > low if step else begin >= low) & (begin < high)
    return found


def _add_hosts_by_laws(read: Accumulated, world: World, own: Sequence[tuple[int, HostSpan]]) -> None:
    """Counters add up to their last value less the first one, and memory never becomes less."""
    found = [span for _, span in own]
    at, count, first, last = host_sample_edges(world, found)
    pair = _owners(read, own)[at]
    hour = np.floor(last / HOUR).astype(np.int64)
    unread, none = np.full(len(at), np.nan), np.zeros(len(at))
    order = np.argsort(pair, kind="stable")
    for name in HOSTS:
        values, samples = all_host_values(found, name, at, last), count.astype(np.float64)
        rows = HourSums(pair, hour, unread, samples, none, unread, values).only(order)
        if METRICS[name].is_counter:
            grown = values - all_host_values(found, name, at, first)
            rows = HourSums(pair, hour, grown, samples - 1.0, none, unread, unread).only(order[count[order] > 1])
        read.sums.add_hours(name, rows)


def _owners(read: Accumulated, own: Sequence[tuple[int, HostSpan]]) -> Ints:
    return np.array(
        [read.pairs.number(place, span.machine.name, None, OWN, span.label) for place, span in own], dtype=np.int64
    )


def _host_cuts(world: World, read: Accumulated, own: Sequence[tuple[int, HostSpan]]) -> Iterator[Cut]:
    spans = read.spans
    for part in batches(own, lambda one: one[1].end - one[1].start):
        found, owner = [span for _, span in part], _owners(read, part)
        at, time = all_host_samples(world, found)
        attempt = np.array([place for place, _ in part], dtype=np.int64)[at]
        for name in HOSTS:
            yield from _host_cut(name, found, owner, (at, time, attempt), spans)


def _host_cut(
    name: str, part: Sequence[HostSpan], owner: Ints, samples: tuple[Ints, Floats, Ints], spans: Spans
) -> Iterator[Cut]:
    at, time, attempt = samples
    values = all_host_values(part, name, at, time)
    is_counter = METRICS[name].is_counter
    kept = ~_suspended(spans, attempt, time, 0.0 if is_counter else STEP_SECONDS)
    if is_counter and len(values):
        first = starts(at)
        values = np.diff(values, prepend=values[:1])
        kept[first] = False
    pair = owner[at]
    if kept.any():
        order = np.flatnonzero(kept)
        order = order[np.argsort(pair[order], kind="stable")]
        ones = np.ones(len(order))
        yield Cut(name, pair[order], time[order], values[order], ones, values[order], values[order], is_counter)
