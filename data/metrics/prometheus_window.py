"""Windows and series: raw samples where their number allows it, the server's own sums beyond."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from data.errors import BadRequest
from data.metrics.devices import Fleet
from data.metrics.dialects import BoundDialect
from data.metrics.prometheus_answers import vector
from data.metrics.prometheus_http import Connection
from data.metrics.prometheus_raw import RawReader, Run, Span, chunks, put_together, usual_series
from data.metrics.prometheus_site import Site
from data.metrics.prometheus_stats import Sums, can_be_summed, is_doubtful, read_sums, sums_query, together
from data.metrics.registry import METRICS
from data.metrics.samples import Samples, binned, idle_count
from data.model import Scope, Series, Window, WindowStat

# Raw samples of one question, over all metrics that can be summed, beyond which the server adds up instead: about
# 10 s of reading.
RAW_LIMIT = 3_000_000
# Samples that the server adds up for one answer about a scope: about as long.
SUM_LIMIT = 40_000_000
POINT_LIMIT = 11_000

Exporter = tuple[BoundDialect, float | None]


class WindowReader:
    """Reads one question; `dropped` and `warnings` tell what happened on the way.

    `spacing` is the median time in seconds between the raw samples of the first exporter that had any.
    """

    def __init__(self, connection: Connection, site: Site) -> None:
        self.dropped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.spacing: float | None = None
        self._connection = connection
        self._site = site

    def stats(
        self, exporters: Sequence[Exporter], metrics: Sequence[str], span: Span, scope: Scope | None
    ) -> list[WindowStat]:
        """Statistics per (device, job label), for host metrics per (node, job label)."""
        by_server, raw = [], []
        for bound, interval in exporters:
            summed = self._summed(bound, metrics, span, scope, interval)
            by_server.append((bound, self._sums(bound, summed, span, interval, scope) if summed else []))
            raw.append((bound, self._runs(bound, [m for m in metrics if m not in summed], span, scope, interval)))
        stats = [_stat(run) for run in put_together(raw)]
        return stats + _merged(by_server, stats)

    def runs(self, exporters: Sequence[Exporter], metrics: Sequence[str], span: Span, scope: Scope | None) -> list[Run]:
        return put_together([(bound, self._runs(bound, metrics, span, scope, every)) for bound, every in exporters])

    def _runs(
        self, bound: BoundDialect, metrics: Sequence[str], span: Span, scope: Scope | None, interval: float | None
    ) -> list[Run]:
        reader = RawReader(self._connection, self._site, self.dropped)
        runs = reader.runs(bound, metrics, span, scope, interval)
        self.spacing = self.spacing or reader.spacing
        self.warnings += [text for text in reader.warnings if text not in self.warnings]
        return runs

    def _summed(
        self, bound: BoundDialect, metrics: Sequence[str], span: Span, scope: Scope | None, interval: float | None
    ) -> list[str]:
        """Metrics that are too many to read raw. A scope is counted only where it may be that large."""
        wanted = [name for name in metrics if can_be_summed(bound, METRICS[name])]
        if not wanted or interval is None:
            return []
        samples = len(wanted) * span.seconds / interval
        if _is_limited(scope) and usual_series(scope) * samples <= RAW_LIMIT:
            return []
        devices = RawReader(self._connection, self._site, self.dropped).count(bound, span, scope)
        return wanted if devices * samples > RAW_LIMIT else []

    def _sums(
        self, bound: BoundDialect, names: Sequence[str], span: Span, interval: float | None, scope: Scope | None
    ) -> list[Sums]:
        """The server's sums, with the devices that have an impossible extreme read again sample by sample."""
        if _is_limited(scope):
            sums = self._asked(bound, names, span, interval, scope)
        else:
            sums = [one for name in names for one in self._asked(bound, [name], span, interval, None)]
        doubtful: dict[str, set[str]] = defaultdict(set)
        for one in sums:
            if is_doubtful(one, bound.formulas[one.metric][0], METRICS[one.metric]):
                doubtful[one.metric].add(one.node)
        kept = [one for one in sums if one.node not in doubtful.get(one.metric, ())]
        for name, nodes in doubtful.items():
            again = self._runs(bound, [name], span, _within(scope, nodes), interval)
            kept += [_sums(run) for run in again if run.device and run.node in nodes]
        return kept

    def _asked(
        self, bound: BoundDialect, names: Sequence[str], span: Span, interval: float | None, scope: Scope | None
    ) -> list[Sums]:
        """One question for the whole span, or for a scope as many as the samples ask for."""
        every = interval or 1.0
        most = span.seconds if scope is None else SUM_LIMIT * every / (usual_series(scope) * len(names))
        metrics = [METRICS[name] for name in names]
        found: list[Sums] = []
        for chunk in chunks(span, max(every, most)):
            query = sums_query(bound, self._site, metrics, chunk.seconds, every, scope)
            if query:
                answer = self._connection.query(query, (chunk.end - 1) / 1000.0)
                self.warnings += [text for text in answer.warnings if text not in self.warnings]
                found += read_sums(vector(answer.data, self.dropped), bound, self._site)
        return together(found)


def _is_limited(scope: Scope | None) -> bool:
    return scope is not None and (scope.job_labels is not None or scope.nodes is not None)


def _within(scope: Scope | None, nodes: Iterable[str]) -> Scope:
    """The part of the scope that holds the series of these nodes; those of others may be in it too."""
    if scope is None or not _is_limited(scope):
        return Scope(nodes=frozenset(nodes))
    return Scope(scope.job_labels, None if scope.nodes is None else scope.nodes.intersection(nodes))


def _stat(run: Run) -> WindowStat:
    values, samples = run.samples.values, run.samples
    return WindowStat(
        metric=run.metric,
        node=run.node,
        device=run.device,
        job_label=run.job,
        sum=float(values.sum()) if samples.increase is None else samples.increase,
        count=len(values),
        minimum=float(values.min()),
        maximum=float(values.max()),
        idle_count=idle_count(values, METRICS[run.metric]),
    )


def _sums(run: Run) -> Sums:
    stat = _stat(run)
    assert run.device is not None
    return Sums(
        stat.metric, run.node, run.device, run.job, stat.sum, stat.count, stat.minimum, stat.maximum, stat.idle_count
    )


def _merged(by_server: Iterable[tuple[BoundDialect, Sequence[Sums]]], known: Sequence[WindowStat]) -> list[WindowStat]:
    """Sums of several exporters as one set, by the rules of `put_together`."""
    fleet = Fleet()
    taken: dict[tuple[str, int], int] = {}
    chosen: list[tuple[int, Sums]] = []
    for stat in known:
        if stat.device is not None:
            number = fleet.add(stat.device)
            if number is not None:
                taken[(stat.metric, number)] = -1
    for rank, (_, sums) in enumerate(by_server):
        for each in sums:
            number = fleet.add(each.device)
            if number is not None and taken.setdefault((each.metric, number), rank) == rank:
                chosen.append((number, each))
    stats = []
    for number, each in chosen:
        pieces = fleet.slices(number)
        if not pieces:
            stats.append(_window_stat(each, fleet, number, each.job))
        elif METRICS[each.metric].is_whole_card:
            free = [piece for piece in pieces if (each.metric, piece) not in taken]
            stats += [_window_stat(each, fleet, piece, None) for piece in free]
    return stats


def _window_stat(each: Sums, fleet: Fleet, number: int, job: str | None) -> WindowStat:
    return WindowStat(
        each.metric,
        each.node,
        fleet[number],
        job,
        each.sum,
        each.count,
        each.minimum,
        each.maximum,
        each.idle_count,
    )


def span_of(window: Window) -> Span:
    """The window in milliseconds; BadRequest when it has no length."""
    span = Span(round(window.start.timestamp() * 1000), round(window.end.timestamp() * 1000))
    if span.end <= span.start:
        raise BadRequest(f"the window from {window.start} to {window.end} has no length")
    return span


def series_of_run(run: Run, span: Span, step_seconds: float | None, interval: float | None) -> Series:
    """One run as a series; means per step when a step longer than the spacing is asked."""
    samples = run.samples
    if METRICS[run.metric].is_counter:
        samples = Samples(samples.times, samples.values)
    if step_seconds and step_seconds > (interval or 0.0):
        samples = binned(samples, span.start, max(1, round(step_seconds * 1000)))
    times = np.round(samples.times / 1000.0, 3)
    return Series(run.metric, run.node, run.device, run.job, tuple(times.tolist()), tuple(samples.values.tolist()))


def check_points(span: Span, step_seconds: float | None, interval: float | None) -> None:
    """Raise BadRequest for more points a series than a plot (and Prometheus itself) takes."""
    step = step_seconds or interval
    if step and span.seconds / step > POINT_LIMIT:
        raise BadRequest(
            f"{span.seconds:g} s in steps of {step:g} s are more than {POINT_LIMIT} points a series",
            hint=f"Choose a step of at least {math.ceil(span.seconds / POINT_LIMIT)} s.",
        )
