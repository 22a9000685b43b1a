"""Put the jobs of a lane on the time line around broken, drained and reserved nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from data.simulation.chance import Floats, Ints
from data.simulation.faults import Faults
from data.simulation.hardware import Machine
from data.simulation.layout import Lane

Block = tuple[float, float, str]
KEPT, FAILED_NODE, TRIMMED, DROPPED = range(4)
_SHORTEST = 1200
NEVER = float("inf")


@dataclass(slots=True)
class Placed:
    """Start and end of every row (seconds), what happened to it, and the longest time limit that it may ask."""

    start: Floats
    end: Floats
    fate: Ints
    ceiling: Floats


def blocks_of(lane: Lane, faults: Faults, begin: float, end: float) -> list[Block]:
    """Spans in which the lane takes no new job: (from, to, down | drain | maint), earliest first."""
    return sorted({block for machine, _ in lane.places for block in blocks_of_node(machine, faults, begin, end)})


def blocks_of_node(machine: Machine, faults: Faults, begin: float, end: float) -> list[Block]:
    """The same for one node, in no order."""
    blocks: list[Block] = [
        (fault.start, fault.end, kind)
        for kind in ("down", "drain")
        for fault in faults.at_node(kind, machine.name, begin, end)
    ]
    windows = faults.maintenances(begin, end)
    return blocks + [(start, stop, "maint") for _, start, stop, rack in windows if rack == machine.rack]


def place(gap: Floats, duration: Floats, begin: float, end: float, blocks: Iterable[Block]) -> Placed:
    """Line the rows up from `begin` to `end`; nothing starts in a block, and only a drained node lets a job finish."""
    n = len(gap)
    placed = Placed(np.full(n, -1.0), np.full(n, -1.0), np.full(n, DROPPED, dtype=np.int64), np.full(n, NEVER))
    done, cursor = 0, begin
    for start, stop, kind in [*blocks, (end, NEVER, "edge")]:
        ends = cursor + np.cumsum(gap[done:] + duration[done:])
        starts = ends - duration[done:]
        fit = int(np.searchsorted(starts, start))
        here = slice(done, done + fit)
        placed.start[here], placed.end[here], placed.fate[here] = starts[:fit], ends[:fit], KEPT
        if kind == "maint":
            placed.ceiling[here] = start - placed.start[here]
        done += fit
        if done:
            _stop_at(placed, done - 1, start, kind)
            cursor = max(cursor, float(placed.end[done - 1]))
        cursor = max(cursor, stop)
        if done >= n:
            break
    return placed


def _stop_at(placed: Placed, row: int, at: float, kind: str) -> None:
    """End the last row at a block that it would run into."""
    if placed.end[row] <= at or placed.fate[row] == DROPPED or kind == "drain":
        return
    if kind == "down":
        placed.end[row], placed.fate[row] = at, FAILED_NODE
    elif at - placed.start[row] < _SHORTEST:
        placed.end[row], placed.fate[row] = at, DROPPED
    else:
        early = 90 + float(placed.end[row]) % 1000
        placed.end[row], placed.fate[row] = at - early, TRIMMED
