"""Sums of several metrics over several windows that end together: two queries side by side, whatever exporters,
devices and jobs. A server works on each of them with one core.

Nodes with an impossible value, and exporters whose metrics no server can add up, are read raw.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from data.metrics.devices import Sighting, sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels, vector
from data.metrics.prometheus_arms import MARK
from data.metrics.prometheus_http import Answer, Connection
from data.metrics.prometheus_raw import RawReader, Run, Span
from data.metrics.prometheus_selectors import only_where_needed
from data.metrics.prometheus_site import INSTANCE, Site
from data.metrics.prometheus_sum_query import RESTART, Arm, arms_of, is_summed, query_of, shared_out
from data.metrics.registry import METRICS
from data.metrics.values import bounds, is_blank, short_host
from data.model import Device, Scope, SumAsk, WindowSum

# No rate and no amount of memory of a device reaches it, and the mean of a window with one blank does.
_LARGEST = 2.0**56
_AT_ONCE = 2

Exporter = tuple[BoundDialect, float | None]
_Row = tuple[str, str, float, tuple[tuple[str, str], ...]]
"""Exporter, metric, window, and the labels that tell device and job."""


@dataclass(slots=True)
class Added:
    """What came out: sums, and by node the shortest window in seconds in which its exporter was away or new."""

    sums: list[WindowSum] = field(default_factory=list)
    restarts: dict[str, float] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)

    def add(self, sums: Sequence[WindowSum], rank: int) -> None:
        self.sums += sums
        self.ranks += [rank] * len(sums)


class SumsReader:
    """Asks for sums of several exporters, each with its scrape interval in seconds."""

    def __init__(self, connection: Connection, site: Site) -> None:
        self._connection = connection
        self._site = site

    def read(
        self,
        exporters: Sequence[Exporter],
        asks: Sequence[SumAsk],
        end: float,
        nodes: frozenset[str] | None,
        restarts: Sequence[float],
    ) -> Added:
        """`end` in seconds since 1970; `nodes` None = all; `restarts` are windows in seconds."""
        added = Added()
        arms = arms_of([bound for bound, _ in exporters], self._site, asks, nodes, restarts)
        rows = self._rows(arms, end, added) if arms else {}
        for bound, interval in exporters:
            mine = {key: stats for key, stats in rows.items() if key[0] == bound.id}
            added.add(self._screened(bound, interval, mine, asks, end, added), bound.rank)
            raw = [ask for ask in asks if ask.metric in bound.formulas and not is_summed(bound, ask)]
            if raw:
                added.add(self._raw(bound, interval, raw, end, nodes, added), bound.rank)
        added.sums = best_exporter(added.sums, added.ranks)
        return added

    def _rows(self, arms: Sequence[Arm], end: float, added: Added) -> dict[_Row, dict[str, float]]:
        parts = shared_out(arms, _AT_ONCE)
        found: dict[_Row, dict[str, float]] = defaultdict(dict)
        with ThreadPoolExecutor(len(parts)) as threads:
            answers = threads.map(lambda part: self._connection.query(query_of(part), end - 0.001), parts)
            for part, answer in zip(parts, answers, strict=True):
                self._take(part, answer, found, added)
        return found

    def _take(self, arms: Sequence[Arm], answer: Answer, found: dict[_Row, dict[str, float]], added: Added) -> None:
        added.warnings += [text for text in answer.warnings if text not in added.warnings]
        known = {str(number): arm for number, arm in enumerate(arms)}
        for labels, _, value in vector(answer.data, added.dropped):
            arm = known.get(labels.pop(MARK, ""))
            if arm is None:
                added.dropped["unreadable row"] += 1
            elif arm.metric == RESTART:
                self._restart(labels, arm.window_seconds, added.restarts)
            else:
                found[arm.owner.id, arm.metric, arm.window_seconds, tuple(labels.items())][arm.stat] = value

    def _screened(
        self,
        bound: BoundDialect,
        interval: float | None,
        rows: Mapping[_Row, dict[str, float]],
        asks: Sequence[SumAsk],
        end: float,
        added: Added,
    ) -> list[WindowSum]:
        """The sums of one exporter; nodes with an impossible value are read again sample by sample."""
        seen: dict[Any, Sighting | None] = {}
        doubtful: dict[str, set[str]] = defaultdict(set)
        kept: list[WindowSum] = []
        for key, stats in rows.items():
            if key[3] not in seen:
                seen[key[3]] = sight(bound.dialect, self._site, dict(key[3]))
            made = _sum(bound, seen[key[3]], key, stats)
            if made is not None:
                kept.append(made)
                if _is_doubtful(made, bound.formulas[made.metric][0]):
                    doubtful[made.metric].add(made.node)
        if not doubtful:
            return kept
        kept = [one for one in kept if one.node not in doubtful.get(one.metric, ())]
        for metric, names in doubtful.items():
            again = [ask for ask in asks if ask.metric == metric]
            kept += self._raw(bound, interval, again, end, frozenset(names), added)
        return kept

    def _restart(self, labels: Labels, window: float, restarts: dict[str, float]) -> None:
        hosts = [text for name, text in labels.items() if name not in {INSTANCE, "job"} and text]
        node = short_host(hosts[0] if hosts else labels.get(INSTANCE, ""), self._site.strip_domain)
        if node:
            restarts[node] = min(window, restarts.get(node, window))

    def _raw(
        self,
        bound: BoundDialect,
        interval: float | None,
        asks: Sequence[SumAsk],
        end: float,
        nodes: frozenset[str] | None,
        added: Added,
    ) -> list[WindowSum]:
        """The same sums from raw samples, screened one by one."""
        longest = max(ask.window_seconds for ask in asks)
        if nodes is None and all(ask.nodes is not None for ask in asks):
            nodes = frozenset().union(*(ask.nodes or () for ask in asks))
        span = Span(round((end - longest) * 1000), round(end * 1000))
        metrics = list(dict.fromkeys(ask.metric for ask in asks))
        reader = RawReader(self._connection, self._site, added.dropped)
        scope = None if nodes is None else Scope(nodes=nodes)
        runs = reader.runs(bound, metrics, span, scope, interval)
        added.warnings += reader.warnings
        for_slices = {ask for ask in asks if only_where_needed(bound, ask.instead_of) != []}
        return [
            one
            for run in runs
            for ask in asks
            if ask.metric == run.metric and run.device and (run.device.is_slice or ask not in for_slices)
            for one in _of_run(run, run.device, ask, span.end)
        ]


def _sum(bound: BoundDialect, who: Sighting | None, key: _Row, stats: Mapping[str, float]) -> WindowSum | None:
    if who is None or who.device is None or "count" not in stats:
        return None
    if who.device.slice_id is not None and key[1] in bound.dialect.not_on_slices:
        return None
    scale = bound.formulas[key[1]][0].scale
    total, low, high = stats.get("sum"), stats.get("minimum"), stats.get("maximum")
    return WindowSum(
        key[1],
        who.node,
        who.device,
        who.job,
        key[2],
        int(stats["count"]),
        None if total is None else total * scale,
        None if low is None else low * scale,
        None if high is None else high * scale,
    )


def best_exporter(sums: Sequence[WindowSum], ranks: Sequence[int]) -> list[WindowSum]:
    """Of several exporters that give a metric on a node only the one that counts first (the lowest rank)."""
    best: dict[tuple[str, str], int] = {}
    for one, rank in zip(sums, ranks, strict=True):
        key = (one.metric, one.node)
        best[key] = min(rank, best.get(key, rank))
    return [one for one, rank in zip(sums, ranks, strict=True) if best[one.metric, one.node] == rank]


def _is_doubtful(one: WindowSum, term: Term) -> bool:
    """Whether a blank or implausible sample may be among those that were added up."""
    low, high = bounds(METRICS[one.metric])
    mean = one.sum / one.count if one.sum is not None and one.count else None
    for value in (mean, one.minimum, one.maximum):
        if value is not None and not low <= value <= high:
            return True
    if math.isfinite(high):
        return False
    # A mean that holds a blank is one of the largest numbers that there are; an extreme is the blank itself.
    known = [value for value in (mean, one.minimum, one.maximum) if value is not None]
    return any(not math.isfinite(value) or is_blank(value / term.scale) or value > _LARGEST for value in known)


def _of_run(run: Run, device: Device, ask: SumAsk, end: int) -> Iterator[WindowSum]:
    inside = run.samples.times >= end - round(ask.window_seconds * 1000)
    values = run.samples.values[inside]
    if not len(values):
        return
    yield WindowSum(
        run.metric,
        run.node,
        device,
        run.job,
        ask.window_seconds,
        len(values),
        float(values.sum()),
        float(values.min()),
        float(values.max()),
    )
