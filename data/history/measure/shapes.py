"""What the utilization looked like over each run: its spread, its idle stretches and its profile.

Collected chunk by chunk: counts per 0.1 %, sums per step, and one byte per sampling interval that says whether the
device was seen, and busy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from data.history.measure.pairs import OTHER, Cut, Pairs
from data.history.measure.spans import Spans
from data.history.measure.stretches import SEEN_BUSY, SEEN_IDLE, idle_stretches
from data.history.measure.sums import starts
from data.history.measure.use import NOT_MEASURED, Bools, Bytes, Floats, Ints, Profile, Shape
from data.metrics.registry import METRICS

UTILIZATION = ("gpu_utilization", "graphics_engine_activity")
STEP = 300.0
_WEEK = 7 * 86400.0
_BINS = 1001
_QUANTILES = (0.05, 0.50, 0.95)


@dataclass(frozen=True, slots=True)
class SwingLimits:
    """Samples at or below `low`, and at or above `high` (ratios)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Spread:
    """How often each value came, one row per (pair, value)."""

    pair: Ints
    bin: Ints
    count: Ints


class Shapes:
    """Collects the samples of ended attempts. `interval` is the sampling interval in seconds."""

    def __init__(self, spans: Spans, limits: SwingLimits, interval: float) -> None:
        self.interval = interval
        self._spans = spans
        self._limits = limits
        self._spread: list[_Spread] = []
        self._steps: list[tuple[Ints, Ints, Floats, Ints]] = []
        self._swing: dict[int, tuple[float, ...]] = {}
        self._seen: dict[int, Bytes] = {}
        self._first: dict[int, str] = {}

    def add(self, cut: Cut, pairs: Pairs) -> None:
        """Take the samples of UTIL, and those of GR for slices and where UTIL is absent; of UTIL first."""
        if cut.metric not in UTILIZATION or not cut.is_raw:
            return
        mine = self._wanted(cut, pairs)
        if not mine.any():
            return
        pair, time, value = cut.pair[mine], cut.time[mine], cut.sums[mine]
        first = starts(pair)
        local = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(pair))))
        self._count(pair[first], local, value)
        attempt = np.array(pairs.attempt, dtype=np.int64)[pair[first]]
        since = time - self._spans.begin[attempt][local]
        self._add_steps(pair, since, value, step_seconds(self._spans, attempt)[local])
        self._note(pair[first], first, since, value > (METRICS[cut.metric].idle_epsilon or 0.0), attempt)

    def swing(self, pair: int) -> tuple[float, float] | None:
        """Shares of low and of high samples of a pair; None without samples."""
        low, high, total = self._swing.get(pair, (0.0, 0.0, 0.0))
        return (low / total, high / total) if total else None

    def shapes(self, chosen: Mapping[int, Sequence[int]], elapsed: Floats) -> dict[int, Shape]:
        """The shape of each attempt, from its chosen pairs."""
        owner = {pair: attempt for attempt, pairs in chosen.items() for pair in pairs}
        quantiles = self._quantiles(owner)
        found = {}
        for attempt, values in quantiles.items():
            mine = [pair for pair in chosen[attempt] if pair in self._seen]
            low, high, total = (float(sum(self._swing[pair][which] for pair in mine)) for which in (0, 1, 2))
            found[attempt] = Shape(*values, low / total, high / total, *self._stretches(attempt, mine, elapsed))
        return found

    def profiles(self, chosen: Mapping[int, Sequence[int]], counts: Mapping[int, int]) -> dict[int, Profile]:
        """The profile of each attempt, from its chosen pairs; `counts` are the devices that it was given."""
        if not self._steps:
            return {}
        owner = {pair: attempt for attempt, pairs in chosen.items() for pair in pairs}
        pair, step, sums, n = (np.concatenate(column) for column in zip(*self._steps, strict=True))
        attempts = np.array(sorted(chosen), dtype=np.int64)
        if not len(attempts):
            return {}
        length = step_seconds(self._spans, attempts)
        wall = self._spans.end[attempts] - self._spans.begin[attempts]
        size = np.maximum(1, np.ceil(wall / length - 1e-9)).astype(np.int64)
        offset = np.concatenate([[0], np.cumsum(size)])
        place_of = {attempt: place for place, attempt in enumerate(attempts.tolist())}
        place = np.array([place_of.get(owner.get(one, -1), -1) for one in range(int(pair.max()) + 1)])[pair]
        kept = (place >= 0) & (step < size[place])
        pair, step, sums, n, place = (column[kept] for column in (pair, step, sums, n, place))
        where = offset[place] + step
        order = np.lexsort((where, pair))
        first = starts(pair[order], where[order])
        where, sums, n = where[order][first], np.add.reduceat(sums[order], first), np.add.reduceat(n[order], first)
        return _profiles(attempts, offset, size, length, wall, (where, sums, n), counts, self.interval)

    def _stretches(self, attempt: int, pairs: Sequence[int], elapsed: Floats) -> tuple[float, float, float]:
        """Seconds of the longest idle stretch, and of those at the start and the end."""
        begin = self._spans.begin[attempt]
        holes = [
            (float(a - begin) / self.interval, float(b - begin) / self.interval)
            for a, b in self._spans.holes.get(attempt, ())
        ]
        most = float(elapsed[attempt])
        longest, start, end = idle_stretches([self._seen[pair] for pair in pairs], holes)
        return min(longest * self.interval, most), min(start * self.interval, most), min(end * self.interval, most)

    def _wanted(self, cut: Cut, pairs: Pairs) -> Bools:
        """Samples of pairs whose utilization this metric is."""
        first = starts(cut.pair)
        wanted = np.zeros(len(first), dtype=np.bool_)
        for place, pair in enumerate(cut.pair[first].tolist()):
            device = pairs.device[pair]
            if device is None or pairs.kind[pair] == OTHER or not self._spans.is_over[pairs.attempt[pair]]:
                continue
            name = UTILIZATION[1] if device.is_slice else self._first.setdefault(pair, cut.metric)
            wanted[place] = name == cut.metric
        return np.repeat(wanted, np.diff(np.append(first, len(cut.pair))))

    def _count(self, pair: Ints, local: Ints, value: Floats) -> None:
        where = local * _BINS + np.rint(np.clip(value, 0.0, 1.0) * (_BINS - 1)).astype(np.int64)
        count = np.bincount(where, minlength=len(pair) * _BINS)
        found = np.flatnonzero(count)
        self._spread.append(_Spread(pair[found // _BINS], found % _BINS, count[found]))
        low = np.bincount(local, value <= self._limits.low, minlength=len(pair))
        high = np.bincount(local, value >= self._limits.high, minlength=len(pair))
        total = np.bincount(local, minlength=len(pair))
        for one, *more in zip(pair.tolist(), low.tolist(), high.tolist(), total.tolist(), strict=True):
            known = self._swing.get(one, (0, 0, 0))
            self._swing[one] = tuple(a + b for a, b in zip(known, more, strict=True))

    def _add_steps(self, pair: Ints, since: Floats, value: Floats, length: Floats) -> None:
        step = np.floor(since / length).astype(np.int64)
        first = starts(pair, step)
        n = np.diff(np.append(first, len(pair)))
        self._steps.append((pair[first], step[first], np.add.reduceat(value, first), n))

    def _note(self, pair: Ints, first: Ints, since: Floats, busy: Bools, attempt: Ints) -> None:
        bins = np.floor(since / self.interval).astype(np.int64)
        status = np.where(busy, SEEN_BUSY, SEEN_IDLE).astype(np.uint8)
        size = np.ceil((self._spans.end[attempt] - self._spans.begin[attempt]) / self.interval).astype(np.int64)
        edges = [*first.tolist(), len(bins)]
        for place, one in enumerate(pair.tolist()):
            seen = self._seen.get(one)
            if seen is None:
                seen = self._seen[one] = np.zeros(max(1, int(size[place])), dtype=np.uint8)
            mine, low = bins[edges[place] : edges[place + 1]], status[edges[place] : edges[place + 1]]
            busy_bins = mine[low == SEEN_BUSY]
            seen[np.minimum(mine, len(seen) - 1)] |= SEEN_IDLE
            seen[np.minimum(busy_bins, len(seen) - 1)] |= SEEN_BUSY

    def _quantiles(self, owner: Mapping[int, int]) -> dict[int, tuple[float, float, float]]:
        if not self._spread:
            return {}
        pair, bins, count = (
            np.concatenate([getattr(part, name) for part in self._spread]) for name in ("pair", "bin", "count")
        )
        attempt = np.array([owner.get(one, -1) for one in range(int(pair.max()) + 1)], dtype=np.int64)[pair]
        kept = attempt >= 0
        attempt, bins, count = attempt[kept], bins[kept], count[kept]
        order = np.lexsort((bins, attempt))
        attempt, bins, running = attempt[order], bins[order], np.cumsum(count[order])
        first = starts(attempt)
        before = np.where(first > 0, running[first - 1], 0)
        total = running[np.append(first[1:], len(running)) - 1] - before if len(first) else before
        p05, p50, p95 = (
            bins[np.searchsorted(running, before + np.maximum(1, np.ceil(q * total - 1e-9)))] / (_BINS - 1)
            for q in _QUANTILES
        )
        rows = zip(attempt[first].tolist(), p05.tolist(), p50.tolist(), p95.tolist(), strict=True)
        return {one: (low, middle, high) for one, low, middle, high in rows}


def step_seconds(spans: Spans, attempts: Ints) -> Floats:
    """Length of a profile's steps: 300 s, and a multiple of it for each further week of the run."""
    wall = spans.end[attempts] - spans.begin[attempts]
    length: Floats = STEP * np.maximum(1.0, np.ceil(wall / _WEEK))
    return length


def _profiles(
    attempts: Ints,
    offset: Ints,
    size: Ints,
    length: Floats,
    wall: Floats,
    rows: tuple[Ints, Floats, Ints],
    counts: Mapping[int, int],
    interval: float,
) -> dict[int, Profile]:
    where, sums, n = rows
    total = int(offset[-1])
    means = sums / n
    devices = np.bincount(where, minlength=total)
    mean = np.bincount(where, means, minlength=total) / np.maximum(devices, 1)
    maximum = np.zeros(total)
    np.maximum.at(maximum, where, means)
    samples = np.bincount(where, n, minlength=total)
    place = np.repeat(np.arange(len(attempts)), size)
    begun = (np.arange(total) - offset[place]) * length[place]
    given = np.array([counts.get(one, 0) for one in attempts.tolist()])[place]
    expected = np.maximum(1.0, np.minimum(length[place], wall[place] - begun) / interval) * np.maximum(given, 1)
    share = np.where(np.abs(samples - expected) <= np.maximum(given, 1) * (samples > 0), 1.0, samples / expected)
    columns = [
        np.where(devices > 0, _percent(mean), NOT_MEASURED).astype(np.uint8),
        np.where(devices > 0, _percent(maximum), NOT_MEASURED).astype(np.uint8),
        _percent(np.minimum(share, 1.0)).astype(np.uint8),
    ]
    return {
        one: Profile(int(length[k]), *(column[offset[k] : offset[k + 1]] for column in columns))
        for k, one in enumerate(attempts.tolist())
        if (devices[offset[k] : offset[k + 1]] > 0).any()
    }


def _percent(ratios: Floats) -> Floats:
    """Whole percent; a half is a half also when its sum was made in another order."""
    whole: Floats = np.rint(np.round(100 * ratios, 7))
    return whole
