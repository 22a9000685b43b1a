"""Sums of several metrics over several windows that end together: one query, whatever exporters, devices and jobs.

Every arm is one `*_over_time` of raw samples, marked with exporter, metric, window and statistic, and all arms are
joined by `or`. Nodes with an impossible value, and exporters whose metrics no server can add up, are read raw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from data.metrics.devices import Sighting, sight
from data.metrics.dialects import BoundDialect, Term
from data.metrics.prometheus_answers import Labels, vector
from data.metrics.prometheus_http import Connection
from data.metrics.prometheus_raw import RawReader, Run, Span
from data.metrics.prometheus_selectors import host_choices, nodes_matcher, series_of
from data.metrics.prometheus_site import INSTANCE, Site
from data.metrics.prometheus_stats import can_be_summed
from data.metrics.promql import milliseconds, selector
from data.metrics.registry import METRICS
from data.metrics.values import bounds, is_blank, short_host
from data.model import Scope, SumAsk, WindowSum

MARK = "fullwarp_sum"
RESTART = "restart"
_FUNCTIONS = {
    "sum": "sum_over_time",
    "count": "count_over_time",
    "minimum": "min_over_time",
    "maximum": "max_over_time",
}
_Key = tuple[str, str, float, tuple[tuple[str, str], ...]]


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
    """Asks one question of several exporters, each with its scrape interval in seconds."""

    def __init__(self, connection: Connection, site: Site) -> None:
        self._connection = connection
        self._site = site

    def read(
        self,
        exporters: Sequence[tuple[BoundDialect, float | None]],
        asks: Sequence[SumAsk],
        end: float,
        nodes: frozenset[str] | None,
        restarts: Sequence[float],
    ) -> Added:
        """`end` in seconds since 1970; `nodes` None = all; `restarts` are windows in seconds."""
        added = Added()
        query = sums_query([bound for bound, _ in exporters], self._site, asks, nodes, restarts)
        if query:
            answer = self._connection.query(query, end - 0.001)
            added.warnings += answer.warnings
            self._take(vector(answer.data, added.dropped), exporters, asks, end, added)
        for bound, interval in exporters:
            raw = [ask for ask in asks if ask.metric in bound.formulas and not _is_summed(bound, ask)]
            if raw:
                added.add(self._raw(bound, interval, raw, end, nodes, added), bound.rank)
        added.sums = best_exporter(added.sums, added.ranks)
        return added

    def _take(
        self,
        rows: Iterable[tuple[Labels, float, float]],
        exporters: Sequence[tuple[BoundDialect, float | None]],
        asks: Sequence[SumAsk],
        end: float,
        added: Added,
    ) -> None:
        found: dict[_Key, dict[str, float]] = defaultdict(dict)
        for labels, _, value in rows:
            owner, metric, window, stat = labels.pop(MARK, "///").split("/")
            if metric == RESTART:
                self._restart(labels, float(window), added.restarts)
            else:
                found[owner, metric, float(window or 0), tuple(labels.items())][stat] = value
        for bound, interval in exporters:
            mine = [(key, stats) for key, stats in found.items() if key[0] == bound.id]
            added.add(self._screened(bound, interval, mine, asks, end, added), bound.rank)

    def _screened(
        self,
        bound: BoundDialect,
        interval: float | None,
        rows: Sequence[tuple[_Key, dict[str, float]]],
        asks: Sequence[SumAsk],
        end: float,
        added: Added,
    ) -> list[WindowSum]:
        """The sums of one exporter; nodes with an impossible value are read again sample by sample."""
        seen: dict[tuple[tuple[str, str], ...], Sighting | None] = {}
        doubtful: dict[str, set[str]] = defaultdict(set)
        kept: list[WindowSum] = []
        for key, stats in rows:
            if key[3] not in seen:
                seen[key[3]] = sight(bound.dialect, self._site, dict(key[3]))
            made = _sum(bound, seen[key[3]], key, stats)
            if made is not None:
                kept.append(made)
                if _is_doubtful(made, bound.formulas[made.metric][0]):
                    doubtful[made.metric].add(made.node)
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
        return [one for run in runs for ask in asks if ask.metric == run.metric for one in _of_run(run, ask, span.end)]


def _sum(bound: BoundDialect, who: Sighting | None, key: _Key, stats: Mapping[str, float]) -> WindowSum | None:
    if who is None or who.device is None or "count" not in stats:
        return None
    if who.device.slice_id is not None and key[1] in bound.dialect.not_on_slices:
        return None
    scale = bound.formulas[key[1]][0].scale
    total, low, high = (
        None if stats.get(name) is None else stats[name] * scale for name in ("sum", "minimum", "maximum")
    )
    return WindowSum(key[1], who.node, who.device, who.job, key[2], int(stats["count"]), total, low, high)


def best_exporter(sums: Sequence[WindowSum], ranks: Sequence[int]) -> list[WindowSum]:
    """Of several exporters that give a metric on a node only the one that counts first (the lowest rank)."""
    best: dict[tuple[str, str], int] = {}
    for one, rank in zip(sums, ranks, strict=True):
        key = (one.metric, one.node)
        best[key] = min(rank, best.get(key, rank))
    return [one for one, rank in zip(sums, ranks, strict=True) if best[one.metric, one.node] == rank]


def sums_query(
    dialects: Sequence[BoundDialect],
    site: Site,
    asks: Sequence[SumAsk],
    nodes: frozenset[str] | None = None,
    restarts: Sequence[float] = (),
) -> str:
    """The one query; "" when no exporter has any of it."""
    arms: list[str] = []
    for bound in dialects:
        for host, matchers in host_choices(bound, site):
            for ask in asks:
                narrow = nodes if ask.nodes is None else ask.nodes
                arms += _arms(bound, site, host, _among(host, matchers, narrow), ask)
            arms += _restart_arms(bound, site, host, _among(host, matchers, nodes), restarts)
    return " or ".join(arms)


def _among(host: str, matchers: Sequence[str], nodes: frozenset[str] | None) -> Sequence[str]:
    return matchers if nodes is None else (*matchers, nodes_matcher(host, nodes))


def _arms(bound: BoundDialect, site: Site, host: str, matchers: Sequence[str], ask: SumAsk) -> Iterator[str]:
    among = _slices(bound, ask)
    if ask.metric not in bound.formulas or not _is_summed(bound, ask) or among is None:
        return
    labels = _labels(bound, site, host)
    series = series_of(bound, site, [bound.formulas[ask.metric][0].name], [*matchers, *among])
    for stat in ask.stats:
        added = f"max by ({labels}) ({_FUNCTIONS[stat]}({series}[{milliseconds(ask.window_seconds)}]))"
        yield _marked(added, f"{bound.id}/{ask.metric}/{ask.window_seconds!r}/{stat}")


def _restart_arms(
    bound: BoundDialect, site: Site, host: str, matchers: Sequence[str], windows: Sequence[float]
) -> Iterator[str]:
    """Exporters that failed a scrape, or began to run, within a window. Servers without `up` give nothing."""
    labels = ", ".join(dict.fromkeys((INSTANCE, "job", host)))
    known = f"(count by ({labels}) ({series_of(bound, site, [bound.inventory], matchers)}) > bool 0)"
    here = selector(site.matchers)
    for window in windows:
        away = f"min by ({INSTANCE}, job) (min_over_time(up{here}[{milliseconds(window)}]))"
        began = f"(time() - max by ({INSTANCE}, job) (process_start_time_seconds{here}))"
        mark = f"{bound.id}/{RESTART}/{window!r}/"
        yield _marked(f"({away} * on ({INSTANCE}, job) group_right () {known} < 1)", mark + "away")
        yield _marked(f"({began} * on ({INSTANCE}, job) group_right () {known} < {window!r})", mark + "began")


def _is_summed(bound: BoundDialect, ask: SumAsk) -> bool:
    return can_be_summed(bound, METRICS[ask.metric])


def _slices(bound: BoundDialect, ask: SumAsk) -> list[str] | None:
    """Matchers for the devices that an ask is about: where it stands in for a metric, those that lack that one.

    None = the exporter has none of them.
    """
    if ask.instead_of not in bound.formulas:
        return []
    names = [name for name in bound.dialect.labels.get("slice", ()) if not bound.present or name in bound.present]
    return [f'{names[0]}!=""'] if names else None


def _labels(bound: BoundDialect, site: Site, host: str) -> str:
    """Labels that tell devices and jobs apart, and no more: the answer has many rows."""
    roles = bound.dialect.labels
    key = (*roles.get(bound.dialect.key, ()), *roles.get("slice", ()), *roles.get("slice_kind", ()))
    return ", ".join(dict.fromkeys((host, *key, *site.job_labels(bound.dialect))))


def _marked(expression: str, mark: str) -> str:
    return f'label_replace({expression}, "{MARK}", "{mark}", "", "")'


def _is_doubtful(one: WindowSum, term: Term) -> bool:
    """Whether a blank or implausible sample may be among those that were added up."""
    low, high = bounds(METRICS[one.metric])
    known = [value for value in (one.sum, one.minimum, one.maximum) if value is not None]
    if not all(np.isfinite(value) and not is_blank(value / term.scale) for value in known):
        return True
    extremes = [value for value in (one.minimum, one.maximum, _mean(one)) if value is not None]
    return not all(low <= value <= high for value in extremes)


def _mean(one: WindowSum) -> float | None:
    return one.sum / one.count if one.sum is not None and one.count else None


def _of_run(run: Run, ask: SumAsk, end: int) -> Iterator[WindowSum]:
    inside = run.samples.times >= end - round(ask.window_seconds * 1000)
    values = run.samples.values[inside]
    if run.device is None or not len(values) or (ask.instead_of and run.device.slice_id is None):
        return
    yield WindowSum(
        run.metric,
        run.node,
        run.device,
        run.job,
        ask.window_seconds,
        len(values),
        float(values.sum()),
        float(values.min()),
        float(values.max()),
    )
