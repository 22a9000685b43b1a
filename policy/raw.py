"""Sums made here of raw samples, exact to the sample: what the check right before an act stands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import numpy as np

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
        sums = [one for each in series for one in _sums(each, asks, at)]
        return SumsReading(at, tuple(sums), known.interval_seconds, known.restarts)


def _sums(series: Series, asks: Sequence[SumAsk], at: datetime) -> Iterator[WindowSum]:
    """The sums of one series for every ask that is about it; a window without a sample has none."""
    wanted = [ask for ask in asks if ask.metric == series.metric and (ask.nodes is None or series.node in ask.nodes)]
    if series.device is None or not wanted:
        return
    times, values = np.array(series.times), np.array(series.values)
    end = at.timestamp()
    last = int(np.searchsorted(times, end, "left"))
    for ask in wanted:
        inside = values[int(np.searchsorted(times, end - ask.window_seconds, "left")) : last]
        if len(inside):
            extremes = (len(inside), float(inside.sum()), float(inside.min()), float(inside.max()))
            yield WindowSum(series.metric, series.node, series.device, series.job_label, ask.window_seconds, *extremes)
