"""Raw samples of a span by device or (job, node): range selectors, cut exactly at the edges by ourselves.

Prometheus 2 ranges include both ends, Prometheus 3 leaves the first one out. A range that begins a millisecond
early and a cut here give the same samples from both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.metrics.devices import Fleet, Sighting, sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels, matrix, vector
from data.metrics.prometheus_http import Connection
from data.metrics.prometheus_selectors import scoped
from data.metrics.prometheus_site import Site
from data.metrics.promql import milliseconds
from data.metrics.registry import METRICS, Metric
from data.metrics.samples import Samples, added, counter, joined, millis
from data.metrics.values import screen
from data.model import Device, Scope

# Samples of one answer: 1.5 million are about 40 MB of JSON, far below the usual limit of 50 million per query.
_SAMPLES_PER_ANSWER = 1_500_000
# Series per name where the server was not asked: a job with 64 devices, or 16 devices on each of its nodes.
_USUAL_SERIES = 64
_USUAL_PER_NODE = 16
# The server counts the series of one moment: a little more is expected, and never less than this share of the usual.
_GROWTH = 1.25
_FEWEST = 0.25


@dataclass(frozen=True, slots=True)
class Span:
    """Milliseconds since 1970, end excluded."""

    start: int
    end: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1000.0


@dataclass(frozen=True, slots=True)
class Run:
    """The samples of one metric of one device (None: of the node's share of a job) under one job label."""

    metric: str
    node: str
    device: Device | None
    job: str | None
    samples: Samples


@dataclass(slots=True)
class _Series:
    """One series of the server, put together again from the chunks in which it was read."""

    labels: Labels
    times: list[np.ndarray[tuple[int], np.dtype[np.int64]]]
    values: list[np.ndarray[tuple[int], np.dtype[np.float64]]]


class RawReader:
    """Reads the runs of one exporter after the other; `put_together` joins exporters."""

    def __init__(self, connection: Connection, site: Site, dropped: Counter[str]) -> None:
        self._connection = connection
        self._site = site
        self._dropped = dropped
        self.warnings: list[str] = []
        self.spacing: float | None = None

    def runs(
        self, bound: BoundDialect, metrics: Sequence[str], span: Span, scope: Scope | None, interval: float | None
    ) -> list[Run]:
        """Runs of an exporter, its fillers on slices left out; `spacing` is then the median seconds between samples."""
        names = {term.name for metric in metrics for term in bound.formulas.get(metric, ())}
        if not names:
            return []
        series = self._read(bound, names, span, scope, interval)
        self.spacing = _spacing(series)
        spacing = interval or self.spacing
        return [run for metric in metrics for run in self._metric_runs(bound, metric, series, spacing)]

    def count(self, bound: BoundDialect, span: Span, scope: Scope | None = None) -> int:
        """Devices of the exporter in the scope, about."""
        selectors = scoped(bound, self._site, [bound.inventory], scope)
        return max((self._count(selector, span) for selector in selectors), default=0)

    def _read(
        self, bound: BoundDialect, names: set[str], span: Span, scope: Scope | None, interval: float | None
    ) -> list[_Series]:
        found: dict[tuple[tuple[str, str], ...], _Series] = {}
        selectors = list(scoped(bound, self._site, names, scope))
        usual = usual_series(scope) * len(names)
        for chunk in chunks(span, self._chunk_seconds(selectors, span, interval, usual)):
            seen = set()
            for selector in selectors:
                for labels, times, values in self._range(selector, chunk):
                    key = tuple(sorted(labels.items()))
                    if key not in seen:
                        seen.add(key)
                        series = found.setdefault(key, _Series(labels, [], []))
                        series.times.append(times)
                        series.values.append(values)
        return list(found.values())

    def _range(self, selector: str, chunk: Span) -> Iterator[tuple[Labels, np.ndarray, np.ndarray]]:
        query = f"{selector}[{milliseconds(chunk.seconds)}]"
        answer = self._connection.query(query, (chunk.end - 1) / 1000.0)
        self.warnings += answer.warnings
        for labels, seconds, values in matrix(answer.data, self._dropped):
            times = millis(seconds)
            inside = (times >= chunk.start) & (times < chunk.end)
            if inside.any():
                yield labels, times[inside], values[inside]

    def _chunk_seconds(self, selectors: Sequence[str], span: Span, interval: float | None, usual: int) -> float:
        spacing = interval or 15.0
        if span.seconds / spacing * usual <= _SAMPLES_PER_ANSWER:
            return span.seconds
        series = max((self._count(selector, span) for selector in selectors), default=0)
        return max(spacing, _SAMPLES_PER_ANSWER * spacing / max(series * _GROWTH, usual * _FEWEST))

    def _count(self, selector: str, span: Span) -> int:
        """Series at the end of the span, or at its middle when none is left at the end."""
        for moment in (span.end - 1, (span.start + span.end) // 2):
            answer = self._connection.query(f"count({selector})", moment / 1000.0)
            for _, _, series in vector(answer.data, self._dropped):
                if series >= 1:
                    return int(series)
        return 0

    def _metric_runs(
        self, bound: BoundDialect, name: str, series: Sequence[_Series], interval: float | None
    ) -> Iterator[Run]:
        metric, formula = METRICS[name], bound.formulas.get(name, ())
        by_term = [self._term_groups(bound, metric, term, series, interval) for term in formula]
        if not by_term:
            return
        for who, first in by_term[0].items():
            rest = [(groups.get(who), term) for groups, term in zip(by_term[1:], formula[1:], strict=True)]
            if any(samples is None and not term.optional for samples, term in rest):
                continue
            present = [(samples, term) for samples, term in rest if samples is not None]
            samples = first
            if present:
                parts = [first, *(each for each, _ in present)]
                samples = added(parts, optional=[False, *(term.optional for _, term in present)])
            if len(samples.times):
                yield Run(name, who.node, who.device, who.job, samples)

    def _term_groups(
        self, bound: BoundDialect, metric: Metric, term: Term, series: Sequence[_Series], interval: float | None
    ) -> dict[Sighting, Samples]:
        groups: dict[Sighting, dict[tuple[str, ...], list[Samples]]] = defaultdict(lambda: defaultdict(list))
        for each in series:
            labels = each.labels
            if labels.get("__name__") != term.name or any(labels.get(k) != wanted for k, wanted in term.match):
                continue
            who = sight(bound.dialect, self._site, labels)
            if who is None or (who.device is None and not metric.is_host):
                continue
            samples = self._screened(bound, metric, term, each, who)
            part = tuple(labels.get(label, "") for label in bound.dialect.sum_labels)
            groups[_owner(who, metric)][part].append(samples)
        return {who: _total(parts, metric, interval) for who, parts in groups.items()}

    def _screened(self, bound: BoundDialect, metric: Metric, term: Term, each: _Series, who: Sighting) -> Samples:
        raw = np.concatenate(each.values)
        values, kept = screen(raw, term.scale, metric, self._dropped)
        slice_id = who.device.slice_id if who.device else None
        if slice_id is not None and metric.name in bound.dialect.not_on_slices:
            kept = np.zeros(len(raw), np.bool_)
        elif slice_id not in (None, "0") and bound.dialect.zero_unreported_on_slices:
            kept = kept & (values != 0.0)
        return Samples(np.concatenate(each.times)[kept], values[kept])


def _owner(who: Sighting, metric: Metric) -> Sighting:
    return Sighting(who.node, None if metric.is_host else who.device, who.job, None)


def _total(parts: dict[tuple[str, ...], list[Samples]], metric: Metric, interval: float | None) -> Samples:
    """Series of one thing joined; those that are shares of it (cores of a job) added up."""
    runs = [joined(samples, interval) for samples in parts.values()]
    if metric.is_counter:
        counted = [counter(run) for run in runs]
        total = counted[0] if len(runs) == 1 else added(counted)
        return Samples(total.times, total.values, sum(run.increase or 0.0 for run in counted))
    return runs[0] if len(runs) == 1 else added(runs)


def chunks(span: Span, seconds: float) -> Iterator[Span]:
    length = max(1000, int(seconds * 1000))
    for start in range(span.start, span.end, length):
        yield Span(start, min(start + length, span.end))


def usual_series(scope: Scope | None) -> int:
    """Devices of a scope, of which the server was not asked."""
    return _USUAL_PER_NODE * len(scope.nodes) if scope is not None and scope.nodes else _USUAL_SERIES


def _spacing(series: Iterable[_Series]) -> float | None:
    gaps = [np.median(np.diff(np.concatenate(each.times))) for each in series if sum(map(len, each.times)) > 1]
    return float(np.median(gaps)) / 1000.0 if gaps else None


def put_together(by_exporter: Sequence[tuple[BoundDialect, Sequence[Run]]]) -> list[Run]:
    """Runs of several exporters (the one that counts first, first) as one set: one device, one source per metric.

    A card that is cut gives its place to its slices, and its whole-card values to those that have none.
    """
    fleet = Fleet()
    taken: dict[tuple[str, object], int] = {}
    chosen: list[tuple[int | None, Run]] = []
    for rank, (bound, runs) in enumerate(by_exporter):
        for run in runs:
            number = None if run.device is None else fleet.add(run.device, bound.dialect.scope == "job")
            if run.device is not None and number is None:
                continue
            thing: object = number if run.device is not None else (run.node, run.job)
            if taken.setdefault((run.metric, thing), rank) == rank:
                chosen.append((number, run))
    return [settled for number, run in chosen for settled in _settled(number, run, fleet, taken)]


def _settled(number: int | None, run: Run, fleet: Fleet, taken: dict[tuple[str, object], int]) -> Iterator[Run]:
    if number is None:
        yield run
        return
    slices = fleet.slices(number)
    if not slices:
        yield Run(run.metric, run.node, fleet[number], run.job, run.samples)
    elif METRICS[run.metric].is_whole_card:
        for piece in slices:
            if (run.metric, piece) not in taken:
                yield Run(run.metric, run.node, fleet[piece], None, run.samples)
