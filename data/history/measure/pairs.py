"""Samples of devices cut by attempt: a pair is one attempt and one device, by its own label or without one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.history.measure.spans import Spans
from data.history.measure.use import Bools, Floats, Ints
from data.metrics.grid import Grid, GridRun
from data.model import Device

OWN, BARE, OTHER = 0, 1, 2
"""The series carries the attempt's label, none, or another job's."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Entries of one metric: each a sample (counts 1), or a step of several; pairs never decrease, times of a pair
    neither."""

    metric: str
    pair: Ints
    time: Floats
    sums: Floats
    counts: Floats
    minima: Floats
    maxima: Floats
    is_raw: bool = True

    def only(self, kept: Bools) -> Cut:
        """These entries."""
        edges = (self.minima[kept], self.maxima[kept])
        return Cut(
            self.metric, self.pair[kept], self.time[kept], self.sums[kept], self.counts[kept], *edges, self.is_raw
        )


class Pairs:
    """Numbers the pairs. `device` None = the attempt's share of the node (host metrics)."""

    def __init__(self) -> None:
        self.attempt: list[int] = []
        self.device: list[Device | None] = []
        self.node: list[str] = []
        self.kind: list[int] = []
        self.label: list[str | None] = []
        self.of_attempt: dict[int, list[int]] = defaultdict(list)
        self._ids: dict[tuple[int, object, int], int] = {}
        self._own_nodes: set[tuple[int, str]] = set()

    def number(self, attempt: int, node: str, device: Device | None, kind: int, label: str | None) -> int:
        key = (attempt, node if device is None else device.key, kind)
        known = self._ids.get(key)
        if known is not None:
            return known
        number = self._ids[key] = len(self.attempt)
        self.attempt.append(attempt)
        self.device.append(device)
        self.node.append(node)
        self.kind.append(kind)
        self.label.append(label)
        self.of_attempt[attempt].append(number)
        if kind == OWN and device is not None:
            self._own_nodes.add((attempt, node))
        return number

    def find(self, attempt: int, device: Device, kind: int) -> int | None:
        return self._ids.get((attempt, device.key, kind))

    def wanted(self, attempt: int, node: str, device: Device, kind: int) -> bool:
        """Whether foreign samples of the device tell anything of the attempt: where its own label is on the node,
        only those of its own devices."""
        if (attempt, device.key, OWN) in self._ids:
            return True
        return kind == BARE and (attempt, node) not in self._own_nodes


def cuts_of(grid: Grid, spans: Spans, pairs: Pairs) -> Iterator[Cut]:
    """Cut a chunk, metric by metric."""
    by_metric: dict[str, list[GridRun]] = defaultdict(list)
    for run in grid.runs:
        if len(run.times):
            by_metric[run.metric].append(run)
            if run.job_label is not None:
                for place in spans.labeled(
                    run.job_label, float(run.times[0]), float(run.times[-1]) + grid.step_seconds
                ):
                    pairs.number(place, run.node, run.device, OWN, run.job_label)
    for metric, runs in by_metric.items():
        found = _cut(metric, runs, spans, pairs, grid.step_seconds)
        if found is not None:
            yield found


@dataclass(slots=True)
class _Slices:
    """Which entries of the runs, laid end to end, belong to which pair."""

    pair: list[int]
    first: list[int]
    length: list[int]
    begin: list[float]
    end: list[float]


def _cut(metric: str, runs: Sequence[GridRun], spans: Spans, pairs: Pairs, step: float) -> Cut | None:
    slices, offset = _Slices([], [], [], [], []), 0
    best: dict[int, int] = {}
    for run in runs:
        for pair, low, high in _places(run, spans, pairs, step):
            if high > low:
                edges = (float(run.times[low]), float(run.times[high - 1]))
                _add(slices, best, pair, (offset + low, high - low), edges, 0.0 if run.counts is None else step)
        offset += len(run.times)
    if not slices.pair:
        return None
    return _without_holes(_gathered(metric, runs, slices), spans, pairs, step)


def _add(
    slices: _Slices, best: dict[int, int], pair: int, entries: tuple[int, int], edges: tuple[float, float], step: float
) -> None:
    """Two series over the same time are the same thing twice: the fuller one counts. One that goes on where the other
    ended may share a step with it."""
    first, length = entries
    known = best.get(pair)
    if known is not None and edges[0] + step <= slices.end[known] and edges[1] >= slices.begin[known] + step:
        if length > slices.length[known]:
            slices.first[known], slices.length[known] = first, length
            slices.begin[known], slices.end[known] = edges
        return
    best[pair] = len(slices.pair)
    slices.pair.append(pair)
    slices.first.append(first)
    slices.length.append(length)
    slices.begin.append(edges[0])
    slices.end.append(edges[1])


def _places(run: GridRun, spans: Spans, pairs: Pairs, step: float) -> Iterator[tuple[int, int, int]]:
    """(pair, first entry, end) of each attempt that the run tells of."""
    is_raw = run.counts is None
    first, last = float(run.times[0]), float(run.times[-1]) + (0.0 if is_raw else step)
    own = spans.labeled(run.job_label, first, last) if run.job_label is not None else []
    for place in own:
        pair = pairs.number(place, run.node, run.device, OWN, run.job_label)
        alone = (True, True) if is_raw else _alone(spans, place, [one for one in own if one != place], step)
        yield pair, *_edges(run, spans, place, 0.0 if is_raw else step, alone)
    if run.device is None:
        return
    kind = BARE if run.job_label is None else OTHER
    for place in spans.on_node(run.node, first, last).tolist():
        if place not in own and pairs.wanted(place, run.node, run.device, kind):
            pair = pairs.number(place, run.node, run.device, kind, run.job_label)
            yield pair, *_edges(run, spans, place, 0.0 if is_raw else step, (False, False))


def _alone(spans: Spans, place: int, others: Sequence[int], step: float) -> tuple[bool, bool]:
    """Whether the attempt has its first and its last step under its label for itself. A requeued job's attempts have
    one label; of one that is read in another pass only the count of restarts, or the state, tells."""
    job, is_alone = spans.jobs[place], not any(_meet(spans, place, other, step) for other in others)
    has_earlier = any(spans.start[other] < spans.start[place] for other in others)
    has_later = any(spans.start[other] > spans.start[place] for other in others)
    is_first, is_last = has_earlier or not job.restart_count, has_later or job.state != "REQUEUED"
    return is_alone and is_first, is_alone and is_last


def _meet(spans: Spans, first: int, second: int, step: float) -> bool:
    """Whether two attempts have a step in common."""
    low, high = (first, second) if spans.start[first] <= spans.start[second] else (second, first)
    return bool(np.floor(spans.end[low] / step) >= np.floor(spans.start[high] / step))


def _edges(run: GridRun, spans: Spans, place: int, step: float, alone: tuple[bool, bool]) -> tuple[int, int]:
    """Entries within the attempt. A step at its edge counts where the series is the attempt's own there; elsewhere it
    may hold a neighbor's samples."""
    start, end = float(spans.start[place]), float(spans.end[place])
    low = np.searchsorted(run.times, start - step, "right") if step and alone[0] else np.searchsorted(run.times, start)
    high = np.searchsorted(run.times, end) if not step or alone[1] else np.searchsorted(run.times, end - step, "right")
    return int(low), int(high)


def _gathered(metric: str, runs: Sequence[GridRun], slices: _Slices) -> Cut:
    order = np.lexsort((np.array(slices.begin), np.array(slices.pair)))
    pair, first, length = (np.array(each, dtype=np.int64)[order] for each in (slices.pair, slices.first, slices.length))
    at = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length) + np.repeat(first, length)
    sums = np.concatenate([run.sums for run in runs])[at]
    is_raw = runs[0].counts is None
    counts = np.ones(len(at)) if is_raw else np.concatenate([run.counts for run in runs if run.counts is not None])[at]
    return Cut(
        metric,
        np.repeat(pair, length),
        np.concatenate([run.times for run in runs])[at],
        sums,
        counts,
        sums if is_raw else _extremes(runs, "minima")[at],
        sums if is_raw else _extremes(runs, "maxima")[at],
        is_raw,
    )


def _extremes(runs: Sequence[GridRun], name: str) -> Floats:
    """The smallest or largest sample of each step; where the server gave none, the step's mean."""
    parts: list[Floats] = []
    for run in runs:
        known: Floats | None = getattr(run, name)
        mean = run.sums if run.counts is None else run.sums / run.counts
        parts.append(mean if known is None else known)
    return np.concatenate(parts)


def _without_holes(cut: Cut, spans: Spans, pairs: Pairs, step: float) -> Cut | None:
    """Leave out what was sampled while the attempt was suspended."""
    if not spans.holes:
        return cut
    kept = np.ones(len(cut.pair), dtype=np.bool_)
    reach = 0.0 if cut.is_raw else step
    for pair in np.unique(cut.pair).tolist():
        for begin, end in spans.holes.get(pairs.attempt[pair], ()):
            low, high = np.searchsorted(cut.pair, pair), np.searchsorted(cut.pair, pair, "right")
            times = cut.time[low:high]
            kept[low:high] &= (
                (times + reach < begin) | (times >= end) if not reach else (times + reach <= begin) | (times >= end)
            )
    if kept.all():
        return cut
    return cut.only(kept) if kept.any() else None
