"""What goes wrong on the simulated cluster, each a function of (seed, slot of time): no state, no history.

A *stream* cuts time into slots of one length; in every slot it strikes one place for one span. Larger clusters have
more streams, so that the share of broken nodes stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from data.simulation.chance import choose, key_of, pick, unit_of, word
from data.simulation.clockwork import BEGIN, DAY, HOUR
from data.simulation.hardware import Machine

_DOWN_REASONS = ("Not responding", "Node unexpectedly rebooted", "Kill task failed")
_DRAIN_REASONS = ("NVLink retrain", "ECC row remap pending", "Fan 3 replaced", "IB link flapping", "PSU swap")
_XID_CODES = (31, 13, 48, 63, 94, 79)
MAINTENANCE_PERIOD = 14 * DAY


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong at one node from `start` to `end` (seconds). `card` is None for the whole node.

    `kind`: down, drain, maint (nodes); silent (exporter); throttle (node); xid, blind, stuck (one card).
    """

    kind: str
    node: str
    start: float
    end: float
    reason: str = ""
    user: str = ""
    card: int | None = None
    code: int = 0

    def covers(self, at: float) -> bool:
        return self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class _Stream:
    """`begin` and `length` are ranges in hours; a slot strikes with `chance`."""

    kind: str
    slot_hours: float
    begin: tuple[float, float]
    length: tuple[float, float]
    chance: float = 1.0


_STREAMS = (
    _Stream("down", 36, (0, 1.5), (28, 34)),
    _Stream("drain", 120, (0, 8), (85, 110)),
    _Stream("silent", 12, (0.1, 2), (2, 9.5), 0.9),
    _Stream("throttle", 24, (0, 12), (2, 11), 0.7),
    _Stream("xid", 24, (0, 10), (6, 14), 0.9),
    _Stream("stuck", 24, (0, 6), (3, 16), 0.8),
)
_STREAM_OF = {stream.kind: stream for stream in _STREAMS}
_STREAM_OF["blind"] = _STREAM_OF["xid"]
_BLIND_HOURS = 6.0


class Faults:
    """All faults of one cluster. Lookups cost the same at any instant; decoded slots are kept in bounded caches."""

    def __init__(self, seed: int, machines: tuple[Machine, ...]) -> None:
        self._seed = seed
        self._places = _places(machines)
        gpu_nodes = sum(1 for machine in machines if machine.units)
        self._copies = max(1, round(gpu_nodes / 52))
        self._cached: Callable[[str, int], dict[str, tuple[Fault, ...]]] = lru_cache(4096)(self._slot)

    def between(self, kind: str, start: float, end: float) -> Iterator[Fault]:
        """All faults of one kind that overlap the span, in no order."""
        for found in self._slots(kind, start, end):
            for faults in found.values():
                yield from (fault for fault in faults if fault.start < end and fault.end > start)

    def at_node(self, kind: str, node: str, start: float, end: float) -> list[Fault]:
        """Faults of one kind at one node that overlap the span, earliest first."""
        found = (fault for slot in self._slots(kind, start, end) for fault in slot.get(node, ()))
        return sorted((f for f in found if f.start < end and f.end > start), key=lambda f: f.start)

    def source_gaps(self, start: float, end: float) -> list[tuple[float, float]]:
        """Spans in which the whole metrics store took no samples: a few minutes in some nights."""
        gaps = []
        for day in range(int((start - BEGIN) // DAY), int((end - BEGIN) // DAY) + 1):
            if unit_of(self._seed, word("gap"), day) < 0.4:
                begin = BEGIN + day * DAY + (1 + 3 * unit_of(self._seed, word("gap"), day, 1)) * HOUR
                gaps.append((begin, begin + 120 + 420 * unit_of(self._seed, word("gap"), day, 2)))
        return [(a, b) for a, b in gaps if a < end and b > start]

    def maintenances(self, start: float, end: float) -> list[tuple[int, float, float, str]]:
        """(number, from, to, rack) of the maintenance windows that overlap the span: every other Wednesday."""
        racks = self._places["racks"]
        found: list[tuple[int, float, float, str]] = []
        for number in range(
            int((start - BEGIN) // MAINTENANCE_PERIOD) - 1, int((end - BEGIN) // MAINTENANCE_PERIOD) + 1
        ):
            begin = BEGIN + number * MAINTENANCE_PERIOD + 6 * HOUR
            if begin < end and begin + 6 * HOUR > start:
                found.append((number, begin, begin + 6.0 * HOUR, racks[number % len(racks)]))
        return found

    def _slots(self, kind: str, start: float, end: float) -> Iterator[dict[str, tuple[Fault, ...]]]:
        length = _STREAM_OF[kind].slot_hours * HOUR
        for slot in range(int((start - BEGIN) // length) - 2, int((end - BEGIN) // length) + 1):
            yield self._cached(kind, slot)

    def _slot(self, kind: str, slot: int) -> dict[str, tuple[Fault, ...]]:
        found: dict[str, list[Fault]] = {}
        for copy in range(self._copies):
            for fault in self._strike(_STREAM_OF[kind], slot, copy):
                if fault.kind == kind:
                    found.setdefault(fault.node, []).append(fault)
        return {node: tuple(faults) for node, faults in found.items()}

    def _strike(self, stream: _Stream, slot: int, copy: int) -> Iterator[Fault]:
        key = key_of(self._seed, word(stream.kind), slot, copy)
        if unit_of(key, 0) >= stream.chance:
            return
        low, high = stream.begin
        offset = unit_of(self._seed, word(stream.kind), copy) * stream.slot_hours
        first = (slot * stream.slot_hours + offset + low + (high - low) * unit_of(key, 1)) * HOUR + BEGIN
        low, high = stream.length
        last = first + (low + (high - low) * unit_of(key, 2)) * HOUR
        places = self._places[stream.kind]
        node, cards = places[pick(len(places), key, 3)].split("/")
        yield from _made(stream.kind, node, int(cards), float(round(first)), float(round(last)), key)


def _made(kind: str, node: str, cards: int, start: float, end: float, key: int) -> Iterator[Fault]:
    if kind == "down":
        yield Fault(kind, node, start, end, _DOWN_REASONS[_weighted(key, (0.7, 0.2, 0.1))], "slurm")
    elif kind == "drain":
        yield Fault(kind, node, start, end, _DRAIN_REASONS[pick(len(_DRAIN_REASONS), key, 4)], "mtanaka")
    elif kind == "xid":
        card, code = pick(cards, key, 5), _XID_CODES[pick(len(_XID_CODES), key, 6)]
        yield Fault(kind, node, start, end, card=card, code=code)
        if code == 79:
            yield Fault("blind", node, start, min(end, start + _BLIND_HOURS * HOUR), card=card)
    elif kind == "stuck":
        yield Fault(kind, node, start, end, card=pick(cards, key, 5))
    else:
        yield Fault(kind, node, start, end)


def _weighted(key: int, weights: tuple[float, ...]) -> int:
    return int(choose(np.array(weights), np.array([unit_of(key, 4)]))[0])


def _places(machines: tuple[Machine, ...]) -> dict[str, tuple[str, ...]]:
    """Where each kind may strike. Drains and failures keep to different halves, so no node has both at once."""
    whole = [machine for machine in machines if machine.family in "ha"]
    names = [f"{machine.name}/{machine.cards}" for machine in whole]
    measured = tuple(names)
    hopper = tuple(f"{m.name}/{m.cards}" for m in whole if m.family == "h")
    return {
        "down": tuple(names[0::2]) + tuple(f"{m.name}/0" for m in machines if m.family == "c")[:2],
        "drain": tuple(names[1::2]) or measured,
        "silent": measured,
        "throttle": hopper,
        "xid": measured,
        "stuck": hopper,
        "racks": tuple(sorted({machine.rack for machine in whole}, key=lambda rack: (len(rack), rack))),
    }
