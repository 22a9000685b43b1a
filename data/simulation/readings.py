"""The newest sample of every device, as an exporter's last scrape shows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.model import DeviceReading
from data.simulation.chance import Floats, Ints
from data.simulation.energy import energy_at
from data.simulation.sampling import evaluate, sampled
from data.simulation.signals import ENERGY, NOT_ON_SLICES
from data.simulation.spans import Span, device_spans
from data.simulation.world import World


def newest_readings(
    world: World, metrics: Sequence[str], at: float, age: float
) -> tuple[tuple[DeviceReading, ...], float | None]:
    """Readings of all devices with a sample not older than `age` seconds, and the newest sample's time.

    A device that several jobs share is there once, with all their labels.
    """
    spans = device_spans(world, at - age, at + 0.001)
    labels: dict[int, tuple[str, ...]] = {}
    values: dict[int, dict[str, float]] = {}
    owner: dict[int, Span] = {}
    newest: float | None = None
    for xid in (False, True):
        names = [name for name in metrics if (name == "xid") == xid]
        if xid and not names:
            continue
        rows, times = _last(spans, *sampled(world, spans, xid=xid))
        if len(times):
            newest = max(newest or 0.0, float(times.max()))
        for row in rows.tolist():
            owner.setdefault(spans[row].unit.number, spans[row])
        labels = _labels(spans, rows, times) | labels
        _fill(values, world, spans, rows, times, names)
    readings = (
        DeviceReading(span.unit.device, values.get(number, {}), labels.get(number, ()))
        for number, span in sorted(owner.items())
    )
    return tuple(readings), newest


def _labels(spans: Sequence[Span], at: Ints, time: Floats) -> dict[int, tuple[str, ...]]:
    """Job labels of the devices, as they were when the last sample was taken: a scrape behind Slurm, as in life."""
    when = {spans[row].unit.number: moment for row, moment in zip(at.tolist(), time.tolist(), strict=True)}
    found: dict[int, tuple[str, ...]] = {}
    for span in spans:
        number = span.unit.number
        if span.label is not None and span.start <= when.get(number, -1.0) < span.end:
            found[number] = (*found.get(number, ()), span.label)
    return found


def _last(spans: Sequence[Span], at: Ints, time: Floats) -> tuple[Ints, Floats]:
    """The last sample of each device: (place in `spans`, time)."""
    unit = np.array([span.unit.number for span in spans], dtype=np.int64)[at]
    order = np.lexsort((time, unit))
    is_last = np.append(np.diff(unit[order]) != 0, True)[: len(order)]
    chosen = order[is_last]
    return at[chosen], time[chosen]


def _fill(
    values: dict[int, dict[str, float]],
    world: World,
    spans: Sequence[Span],
    rows: Ints,
    times: Floats,
    names: Sequence[str],
) -> None:
    now = evaluate(world, spans, rows, times)
    columns = {name: now.value(name).tolist() for name in names if name != ENERGY}
    chosen = [spans[row] for row in rows.tolist()]
    if ENERGY in names and chosen:
        columns[ENERGY] = energy_at(world, spans, rows, times).tolist()
    for place, span in enumerate(chosen):
        hidden = NOT_ON_SLICES if span.unit.device.is_slice else frozenset()
        mine = {name: column[place] for name, column in columns.items() if name not in hidden}
        values.setdefault(span.unit.number, {}).update(mine)
