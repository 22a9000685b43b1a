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
from data.history.measure.spans import Spans
from data.history.measure.sums import starts
from data.history.measure.use import Bools, Floats, Ints
from data.metrics.grid import STEP_SECONDS
from data.metrics.registry import METRICS
from data.simulation import World
from data.simulation.grid import INTERVAL
from data.simulation.hosts import HostSpan, all_host_samples, all_host_values, host_spans_of
from data.simulation.sampling import batches, evaluate, sampled
from data.simulation.signals import NOT_ON_SLICES
from data.simulation.spans import Span, spans_of_jobs
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
    places = list(refs)
    start, end = float(spans.start.min()), float(spans.end.max())
    found = spans_of_jobs(world, [refs[place] for place in places], start, end)
    held = []
    for place, devices in zip(places, found, strict=True):
        for span in devices:
            _fit(span, float(spans.start[place]), float(spans.end[place]))
            pair = read.pairs.number(place, span.machine.name, span.unit.device, OWN, span.label)
            held.append(_Held(place, pair, span))
    held.sort(key=lambda one: one.span.unit.device.is_slice)
    for part in _parts(held):
        read.take(_device_cuts(world, spans, part))
    read.take(_host_cuts(world, read, refs, hosts))


def _fit(span: Span, start: float, end: float) -> None:
    """Cut a span to what is read of its attempt."""
    span.start, span.end = max(span.start, start), min(span.end, end)
    span.seen = tuple((max(a, start), min(b, end)) for a, b in span.seen if min(b, end) > max(a, start))


def _parts(held: Sequence[_Held]) -> Iterator[Sequence[_Held]]:
    first, total = 0, 0.0
    for place, one in enumerate(held):
        total += (one.span.end - one.span.start) / INTERVAL
        is_last_whole = (
            place + 1 < len(held) and held[place + 1].span.unit.device.is_slice != one.span.unit.device.is_slice
        )
        if total > _AT_ONCE or is_last_whole:
            yield held[first : place + 1]
            first, total = place + 1, 0.0
    if first < len(held):
        yield held[first:]


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
            yield _cut(name, pair[at], time, now.value(name), is_raw=is_raw, kept=kept)


def _cut(name: str, pair: Ints, time: Floats, values: Floats, *, is_raw: bool, kept: Bools) -> Cut:
    cut = Cut(name, pair, time, values, np.ones(len(time)), values, values, is_raw)
    return cut if kept.all() else cut.only(kept)


def _suspended(spans: Spans, attempt: Ints, time: Floats, step: float) -> Bools:
    """Samples taken while suspended; with steps, those of every step that the suspension touches."""
    found = np.zeros(len(time), dtype=np.bool_)
    for place in spans.holes.keys() & set(attempt[starts(attempt)].tolist()):
        mine = np.flatnonzero(attempt == place)
        begin = np.floor(time[mine] / step) * step if step else time[mine]
        for low, high in spans.holes[place]:
            found[mine] |= (begin + step > low if step else begin >= low) & (begin < high)
    return found


def _host_cuts(
    world: World, read: Accumulated, refs: Mapping[int, Ref], hosts: Mapping[tuple[str, float], int]
) -> Iterator[Cut]:
    pairs, spans = read.pairs, read.spans
    found = host_spans_of(world, list(refs.values()), float(spans.start.min()), float(spans.end.max()))
    for part in batches(found, lambda span: span.end - span.start):
        places = [hosts[(span.label, span.begin)] for span in part]
        owner = [
            pairs.number(place, span.machine.name, None, OWN, span.label)
            for place, span in zip(places, part, strict=True)
        ]
        at, time = all_host_samples(world, part)
        attempt = np.array(places, dtype=np.int64)[at]
        kept = (time >= spans.start[attempt]) & (time < spans.end[attempt])
        at, time, attempt = at[kept], time[kept], attempt[kept]
        for name in HOSTS:
            yield from _host_cut(name, part, np.array(owner, dtype=np.int64), (at, time, attempt), spans)


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
