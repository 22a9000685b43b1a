"""Sums of what was cut, by pair and hour. Chunks may come in any number and any cut of time: the sums are the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from data.history.measure.pairs import Cut
from data.history.measure.spans import HOUR
from data.history.measure.use import Floats, Ints
from data.metrics.registry import METRICS


@dataclass(frozen=True, slots=True)
class HourSums:
    """One row per (pair, UTC hour) with samples; `idle` counts idle ones, where samples were seen one by one. Extremes
    and sums that nobody reads may be NaN."""

    pair: Ints
    hour: Ints
    sums: Floats
    counts: Floats
    idle: Floats
    minima: Floats
    maxima: Floats

    def only(self, places: Ints) -> HourSums:
        """The rows at these places, in this order."""
        return HourSums(*(getattr(self, name)[places] for name in _NAMES))


_NAMES = ("pair", "hour", "sums", "counts", "idle", "minima", "maxima")


class Sums:
    """Adds cuts up, by metric."""

    def __init__(self) -> None:
        self._parts: dict[str, list[HourSums]] = defaultdict(list)

    def add(self, cut: Cut) -> None:
        if len(cut.pair):
            self._parts[cut.metric].append(_by_hour(cut))

    def add_hours(self, metric: str, rows: HourSums) -> None:
        """Take what is added up already."""
        if len(rows.pair):
            self._parts[metric].append(rows)

    def total(self) -> dict[str, HourSums]:
        return {metric: _merged(parts) for metric, parts in self._parts.items()}


def _by_hour(cut: Cut) -> HourSums:
    epsilon = METRICS[cut.metric].idle_epsilon
    idle = np.zeros(len(cut.pair))
    if cut.is_raw and epsilon is not None:
        idle = (cut.sums <= epsilon).astype(np.float64)
    hour = np.floor(cut.time / HOUR).astype(np.int64)
    return _reduced(HourSums(cut.pair, hour, cut.sums, cut.counts, idle, cut.minima, cut.maxima))


def _merged(parts: list[HourSums]) -> HourSums:
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES}
    order = np.lexsort((columns["hour"], columns["pair"]))
    return _reduced(HourSums(**{name: column[order] for name, column in columns.items()}))


def _reduced(rows: HourSums) -> HourSums:
    """One row per (pair, hour) out of rows that are in that order."""
    first = starts(rows.pair, rows.hour)
    return HourSums(
        rows.pair[first],
        rows.hour[first],
        np.add.reduceat(rows.sums, first),
        np.add.reduceat(rows.counts, first),
        np.add.reduceat(rows.idle, first),
        np.minimum.reduceat(rows.minima, first),
        np.maximum.reduceat(rows.maxima, first),
    )


def starts(*columns: Ints) -> Ints:
    """Places at which any of the columns changes, the first one included."""
    is_new = np.zeros(len(columns[0]), dtype=np.bool_)
    is_new[:1] = True
    for column in columns:
        is_new[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(is_new)


@dataclass(frozen=True, slots=True)
class PairSums:
    """One row per pair with samples of one metric."""

    pair: Ints
    sums: Floats
    counts: Floats
    idle: Floats
    minima: Floats
    maxima: Floats


def by_pair(rows: HourSums) -> PairSums:
    first = starts(rows.pair)
    return PairSums(
        rows.pair[first],
        np.add.reduceat(rows.sums, first),
        np.add.reduceat(rows.counts, first),
        np.add.reduceat(rows.idle, first),
        np.minimum.reduceat(rows.minima, first),
        np.maximum.reduceat(rows.maxima, first),
    )
