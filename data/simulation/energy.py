"""The energy counter of each card: the integral of its power since the driver was last loaded.

A driver is loaded anew when the epoch of its group begins, while no job holds the node; there the counter starts at 0.
Power is looked at every 150 s; between, the counter grows evenly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.simulation.chance import Floats, Ints
from data.simulation.clockwork import BEGIN
from data.simulation.layout import EPOCH
from data.simulation.sampling import evaluate
from data.simulation.spans import Span, device_spans
from data.simulation.world import World

CELL = 150.0


class EnergyMeter:
    """Counters of all devices of some nodes over a span of time."""

    def __init__(self, world: World, nodes: frozenset[str], start: float, end: float) -> None:
        self._start = np.floor(start / CELL) * CELL
        cells = int(np.ceil((end - self._start) / CELL)) + 1
        units = [unit for machine in world.machines if machine.name in nodes for unit in machine.units]
        self._row = {unit.number: row for row, unit in enumerate(units)}
        power = np.zeros((len(units), cells))
        middles = self._start + (np.arange(cells) + 0.5) * CELL
        spans = device_spans(world, float(self._start), float(self._start + cells * CELL), nodes=nodes)
        first = np.searchsorted(middles, [span.start for span in spans])
        count = np.searchsorted(middles, [span.end for span in spans]) - first
        at = np.repeat(np.arange(len(spans)), count)
        place = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count) + first[at]
        rows = np.array([self._row[span.unit.number] for span in spans], dtype=np.int64)
        now = evaluate(world, spans, at, middles[place])
        power[rows[at], place] = now.value("power_watts")
        self._total = np.concatenate([np.zeros((len(units), 1)), np.cumsum(power * CELL, axis=1)], axis=1)

    def read(self, units: Ints, times: Floats) -> Floats:
        """Joules since the meter's start, for (unit number, time) pairs."""
        rows = np.array([self._row[int(unit)] for unit in np.unique(units)])[np.searchsorted(np.unique(units), units)]
        place = (times - self._start) / CELL
        cell = np.clip(np.floor(place).astype(np.int64), 0, self._total.shape[1] - 2)
        before, after = self._total[rows, cell], self._total[rows, cell + 1]
        result: Floats = before + (after - before) * np.clip(place - cell, 0, 1)
        return result


def energy_at(world: World, spans: Sequence[Span], at: Ints, times: Floats) -> Floats:
    """The counters (joules) of the spans' devices at the times, each since its driver was loaded; `at` are places
    in `spans`."""
    if not len(times):
        return times
    phase = np.array([BEGIN + world.group_of[span.machine.name].phase for span in spans], dtype=np.float64)[at]
    begins = np.floor((times - phase) / EPOCH) * EPOCH + phase
    units = np.array([span.unit.number for span in spans])[at]
    nodes = frozenset(spans[row].machine.name for row in np.unique(at).tolist())
    meter = EnergyMeter(world, nodes, float(begins.min()), float(times.max()) + 1)
    result: Floats = meter.read(units, times) - meter.read(units, begins)
    return result
