"""Sources that count what they cost, around the real ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import ParamSpec, TypeVar

from data.metrics.grid import STEP_SECONDS, Grid
from data.model import Reading, Scope, Series, SourceHealth, SumAsk, SumsReading, Window, WindowReading
from data.protocols import MetricsSource

P = ParamSpec("P")
R = TypeVar("R")


class TimedMetrics:
    """A metrics source whose seconds in calls are summed up in `seconds`."""

    def __init__(self, source: MetricsSource) -> None:
        self._source = source
        self.kind = source.kind
        self.seconds = 0.0

    @property
    def requests(self) -> int:
        return self._source.requests

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        return self._timed(self._source.latest, metrics, at)

    def window(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> WindowReading:
        return self._timed(self._source.window, metrics, window, scope)

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        return self._timed(self._source.sums, asks, at, nodes, restarts)

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        return self._timed(self._source.series, metrics, window, scope, step_seconds)

    def grid(
        self,
        samples: Sequence[str],
        steps: Sequence[str],
        window: Window,
        scope: Scope | None = None,
        step_seconds: float = STEP_SECONDS,
    ) -> Grid:
        return self._timed(self._source.grid, samples, steps, window, scope, step_seconds)

    def recorded(self) -> Sequence[str] | None:
        return self._timed(self._source.recorded)

    def health(self) -> SourceHealth:
        return self._timed(self._source.health)

    def _timed(self, ask: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        begun = time.perf_counter()
        try:
            return ask(*arguments, **named)
        finally:
            self.seconds += time.perf_counter() - begun
