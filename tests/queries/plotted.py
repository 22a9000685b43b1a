"""Metrics that have series to plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from data.model import Scope, Series, Window
from tests.live.builders import FakeMetrics


@dataclass
class Plotted(FakeMetrics):
    """Metrics with series; keeps what was asked."""

    given: Sequence[Series] = ()
    asked: list[tuple[tuple[str, ...], Window, Scope, float | None]] = field(default_factory=list)
    series_fault: Exception | None = None

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        self.asked.append((tuple(metrics), window, scope, step_seconds))
        if self.series_fault is not None:
            raise self.series_fault
        return tuple(one for one in self.given if one.metric in metrics)
