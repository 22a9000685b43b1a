"""Sums made here of raw samples, exact to the sample: what the check right before an act stands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from data.metrics.registry import METRICS
from data.model import Scope, Series, SumAsk, SumsReading, Window, WindowSum
from data.protocols import MetricsSource


class RawSums:
    """Answers like a metrics source, from the raw series of the nodes asked for. Raises SourceError."""

    def __init__(self, metrics: MetricsSource) -> None:
        self._metrics = metrics

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        """Samples with start <= time < `at` of each window. `nodes` None reads everything: name them."""
        longest = max((ask.window_seconds for ask in asks), default=0.0)
        window = Window(at - timedelta(seconds=longest), at)
        metrics = list(dict.fromkeys(ask.metric for ask in asks if not METRICS[ask.metric].is_derived))
        series = list(self._metrics.series(metrics, window, Scope(nodes=nodes))) if metrics else []
        known = self._metrics.sums((), at, nodes, restarts)
        sums = [one for each in series for ask in asks if ask.metric == each.metric for one in _sum(each, ask, at)]
        return SumsReading(at, tuple(sums), known.interval_seconds, known.restarts)


def _sum(series: Series, ask: SumAsk, at: datetime) -> Iterator[WindowSum]:
    device, end = series.device, at.timestamp()
    if device is None or (ask.nodes is not None and series.node not in ask.nodes):
        return
    begin = end - ask.window_seconds
    values = [value for time, value in zip(series.times, series.values, strict=True) if begin <= time < end]
    if values:
        extremes = (len(values), sum(values), min(values), max(values))
        yield WindowSum(series.metric, series.node, device, series.job_label, ask.window_seconds, *extremes)
