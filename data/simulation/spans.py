"""Who held which device when: the spans of a window, with the faults that change or hide what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from data.simulation.archetypes import FREE, INFERENCE
from data.simulation.chance import key_of, word
from data.simulation.describe import lane_of
from data.simulation.faults import Fault
from data.simulation.hardware import Machine, Unit
from data.simulation.world import Ref, World

Spell = tuple[float, float]
NO_SPELL: Spell = (0.0, 0.0)


@dataclass(slots=True)
class Span:
    """One device in the hands of one job (or nobody: label None) from `start` to `end`.

    `begin` is the job's start, also when it lies before the window; `ordinal` numbers the device in the job of
    `count` devices. `seen` are the parts in which samples were taken, `seen_xid` those of the XID metric.
    """

    machine: Machine
    unit: Unit
    label: str | None
    start: float
    end: float
    begin: float
    archetype: int
    key: int
    ordinal: int = 0
    count: int = 1
    suspended: Spell = NO_SPELL
    seen: tuple[Spell, ...] = ()
    seen_xid: tuple[Spell, ...] = ()
    stuck: Spell = NO_SPELL
    hot: Spell = NO_SPELL
    xid: tuple[float, float, int] = (0.0, 0.0, 0)


def device_spans(
    world: World,
    start: float,
    end: float,
    labels: frozenset[str] | None = None,
    nodes: frozenset[str] | None = None,
) -> list[Span]:
    """All spans that touch the window, cut to it. Held ones by job label or node; free ones only by node, or when
    neither is given."""
    everything = labels is None and nodes is None
    wanted = nodes or frozenset()
    spans: list[Span] = []
    for ref in world.overlapping(start, end):
        label = label_of(ref)
        names = None if everything or (labels and label in labels) else wanted
        if names is None or names:
            spans += _held(world, ref, label, start, end, names)
    machines = [m for m in world.machines if m.units and (everything or m.name in wanted)]
    spans += _free(world, machines, spans, start, end)
    _mark_faults(world, spans, start, end)
    return spans


def spans_of_jobs(world: World, refs: Sequence[Ref], start: float, end: float) -> list[list[Span]]:
    """The spans of each of these attempts, cut to the time; () for one without devices or outside."""
    every = [
        [span for span in _held(world, ref, label_of(ref), start, end, None) if span.end > span.start] for ref in refs
    ]
    _mark_faults(world, [span for spans in every for span in spans], start, end)
    return every


def label_of(ref: Ref) -> str:
    """The job label that exporters put on the devices of an attempt."""
    return str(int(ref.epoch.jobs.job_id[ref.row]))


def _held(world: World, ref: Ref, label: str, start: float, end: float, names: frozenset[str] | None) -> Iterable[Span]:
    jobs, row, lane = ref.epoch.jobs, ref.row, lane_of(ref)
    begin, stop = float(jobs.start[row]), float(jobs.end[row])
    archetype, key = int(jobs.archetype[row]), int(jobs.key[row])
    suspended = (float(jobs.suspend_from[row]), float(jobs.suspend_to[row]))
    count, ordinal = lane.gpus, 0
    for machine, indices in lane.places:
        for index in indices:
            unit = machine.units[index]
            span = Span(machine, unit, label, max(start, begin), min(end, stop), begin, archetype, key)
            span.ordinal, span.count, span.suspended = ordinal, count, suspended
            if lane.kind == "shard":
                span.archetype, span.key, span.begin = INFERENCE, _own_key(world, unit), 0.0
                span.suspended = NO_SPELL
            ordinal += 1
            if names is None or machine.name in names:
                yield span


def _free(world: World, machines: list[Machine], held: list[Span], start: float, end: float) -> list[Span]:
    taken: dict[int, list[Spell]] = {}
    for span in held:
        taken.setdefault(span.unit.number, []).append((span.start, span.end))
    spans = []
    for machine in machines:
        for unit in machine.units:
            key = _own_key(world, unit)
            for begin, stop in without((start, end), sorted(taken.get(unit.number, ()))):
                spans.append(Span(machine, unit, None, begin, stop, 0.0, FREE, key))
    return spans


def _own_key(world: World, unit: Unit) -> int:
    return key_of(world.seed, 301, unit.number)


def without(spell: Spell, holes: Iterable[Spell]) -> list[Spell]:
    """What is left of a span of time when the holes (in order of their starts) are taken out."""
    left, at = [], spell[0]
    for begin, stop in holes:
        if begin > at:
            left.append((at, min(begin, spell[1])))
        at = max(at, stop)
        if at >= spell[1]:
            return left
    return [*left, (at, spell[1])] if at < spell[1] else left


def _mark_faults(world: World, spans: list[Span], start: float, end: float) -> None:
    gaps = world.faults.source_gaps(start, end)
    dark = _by_node(world, ("down", "silent"), start, end)
    cards = _by_node(world, ("blind", "stuck", "throttle", "xid"), start, end)
    for span in spans:
        faults = dark.get(span.machine.name, [])
        holes = sorted([*gaps, *((fault.start, fault.end) for fault in faults)])
        span.seen = span.seen_xid = tuple(without((span.start, span.end), holes))
        for fault in cards.get(span.machine.name, ()):
            if fault.card is None or fault.card == span.unit.card:
                _mark(span, fault, holes)


def _mark(span: Span, fault: Fault, holes: list[Spell]) -> None:
    if fault.kind == "blind":
        span.seen = tuple(without((span.start, span.end), sorted([*holes, (fault.start, fault.end)])))
    elif fault.kind == "stuck":
        span.stuck = (fault.start, fault.end)
    elif fault.kind == "throttle":
        span.hot = (fault.start, fault.end)
    else:
        span.xid = (fault.start, fault.end, fault.code)


def _by_node(world: World, kinds: tuple[str, ...], start: float, end: float) -> dict[str, list[Fault]]:
    found: dict[str, list[Fault]] = {}
    for kind in kinds:
        for fault in world.faults.between(kind, start, end):
            found.setdefault(fault.node, []).append(fault)
    return found


def node_key(world: World, machine: Machine) -> int:
    return key_of(world.seed, 302, word(machine.name))
