"""Lay the samples that exporters took over spans, and add them up span by span."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from data.simulation.chance import Flags, Floats, Ints, Keys
from data.simulation.grid import INTERVAL, numbers_between, phases, sample_times
from data.simulation.hardware import Machine
from data.simulation.signals import Moment, load_of, moment, tabulate
from data.simulation.spans import Span, Spell, device_spans, node_key
from data.simulation.world import World

T = TypeVar("T")
_BATCH = 400_000


@dataclass(frozen=True, slots=True)
class Stats:
    """Sums over the samples of each span that has any; `rows` are places in the list of spans."""

    rows: Ints
    sum: Floats
    count: Ints
    minimum: Floats
    maximum: Floats
    idle: Ints


def batches(items: Sequence[T], seconds: Callable[[T], float], most: int = _BATCH) -> Iterator[Sequence[T]]:
    """Cut a list so that a part has about `most` samples, by default as many as fit into memory comfortably;
    `seconds` is an item's length."""
    first, total = 0, 0.0
    for row, item in enumerate(items):
        total += seconds(item) / INTERVAL
        if total > most:
            yield items[first : row + 1]
            first, total = row + 1, 0.0
    if first < len(items):
        yield items[first:]


def sampled(world: World, spans: Sequence[Span], *, xid: bool = False) -> tuple[Ints, Floats]:
    """All samples that were taken of the spans, span by span in time order: (place in `spans`, time)."""
    parts = [
        (row, span.machine, spell) for row, span in enumerate(spans) for spell in (span.seen_xid if xid else span.seen)
    ]
    return lay(world, parts)


def evaluate(world: World, spans: Sequence[Span], at: Ints, time: Floats) -> Moment:
    """What the devices of the spans do at the given times; `at` are places in `spans`."""
    now = moment(tabulate(spans), at, time)
    now.find_card_load = partial(card_load, world)
    return now


@dataclass(frozen=True, slots=True)
class _Plan:
    """Parts of time in which a node was sampled, and the numbers of the scrapes that may lie in them."""

    row: Ints
    key: Keys
    phase: Floats
    start: Floats
    end: Floats
    first: Ints
    last: Ints

    def times(self, which: Ints, number: Ints) -> Floats:
        return sample_times(self.key[which], self.phase[which], number)

    def holds(self, which: Ints, time: Floats) -> Flags:
        inside: Flags = (time >= self.start[which]) & (time < self.end[which])
        return inside


def _plan(world: World, parts: Sequence[tuple[int, Machine, Spell]]) -> _Plan:
    machines = {machine.name: machine for _, machine, _ in parts}
    known = {name: node_key(world, machine) for name, machine in machines.items()}
    keys = np.array([known[machine.name] for _, machine, _ in parts], dtype=np.uint64)
    start = np.array([spell[0] for _, _, spell in parts], dtype=np.float64)
    end = np.array([spell[1] for _, _, spell in parts], dtype=np.float64)
    rows = np.array([row for row, _, _ in parts], dtype=np.int64)
    phase = phases(keys)
    return _Plan(rows, keys, phase, start, end, *numbers_between(start, end, phase))


def lay(world: World, parts: Sequence[tuple[int, Machine, Spell]]) -> tuple[Ints, Floats]:
    """Sample times of the parts: (row of each sample, time)."""
    plan = _plan(world, parts)
    count = plan.last - plan.first
    which = np.repeat(np.arange(len(parts)), count)
    number = np.arange(len(which)) + np.repeat(plan.first - np.cumsum(count) + count, count)
    time = plan.times(which, number)
    taken = plan.holds(which, time)
    return (plan.row[which], time) if taken.all() else (plan.row[which[taken]], time[taken])


def lay_edges(world: World, parts: Sequence[tuple[int, Machine, Spell]]) -> tuple[Ints, Ints, Floats, Floats]:
    """Rows with samples, how many they have, and the times of their first and last one; a row's parts follow each
    other. Scrapes come nearly on time: only the outermost ones can lie outside of a part."""
    plan = _plan(world, parts)
    which = np.flatnonzero(plan.last > plan.first)
    first, last = plan.first[which], plan.last[which] - 1
    first += ~plan.holds(which, plan.times(which, first))
    last -= ~plan.holds(which, plan.times(which, last))
    some = last >= first
    which, first, last = which[some], first[some], last[some]
    row = plan.row[which]
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    ends = np.append(begins[1:], len(row))[: len(begins)] - 1
    counts = np.add.reduceat(last - first + 1, begins) if len(begins) else begins
    return row[begins], counts, plan.times(which[begins], first[begins]), plan.times(which[ends], last[ends])


def add_up(at: Ints, values: Floats, idle_epsilon: float | None) -> Stats:
    """Sums per span; `at` names the span of each value and never decreases."""
    if not len(at):
        empty, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        return Stats(none, empty, none, empty, empty, none)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(at)) + 1])
    idle = np.zeros(len(at), dtype=np.int64) if idle_epsilon is None else (values <= idle_epsilon).astype(np.int64)
    return Stats(
        at[edges],
        np.add.reduceat(values, edges),
        np.diff(np.append(edges, len(at))),
        np.minimum.reduceat(values, edges),
        np.maximum.reduceat(values, edges),
        np.add.reduceat(idle, edges),
    )


def card_load(world: World, now: Moment) -> Floats | None:
    """How hard the whole card works where a span is a slice of one (else NaN): power and heat are the card's."""
    spans = now.table.spans
    cut = {span.machine.name: span.machine for span in spans if span.machine.family == "m"}
    if not cut or not len(now.time):
        return None
    load = np.full(len(now.time), np.nan)
    owner = np.array([span.machine.name if span.machine.family == "m" else "" for span in spans])[now.at]
    card = np.array([span.unit.card for span in spans])[now.at]
    for name, machine in cut.items():
        here = np.flatnonzero(owner == name)
        if len(here):
            times = np.unique(now.time[here])
            loads = card_loads(world, machine, times)
            load[here] = loads[card[here], np.searchsorted(times, now.time[here])]
    return load


def card_loads(world: World, machine: Machine, times: Floats) -> Floats:
    """The load (0..1) of each card of a node cut into slices, at each of the times: [card, time]."""
    spans = device_spans(world, float(times[0]), float(times[-1]) + 0.001, nodes=frozenset({machine.name}))
    first = np.searchsorted(times, [span.start for span in spans])
    count = np.searchsorted(times, [span.end for span in spans]) - first
    at = np.repeat(np.arange(len(spans)), count)
    place = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count) + first[at]
    part = load_of(moment(tabulate(spans), at, times[place]))
    loads = np.zeros((machine.cards, len(times)))
    share = np.array([span.unit.share for span in spans])
    card = np.array([span.unit.card for span in spans])
    np.add.at(loads, (card[at], place), part * share[at])
    return loads
