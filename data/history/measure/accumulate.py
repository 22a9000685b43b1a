"""All that is kept of the samples while a span is read: bounded by the attempts, not by the number of samples."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from data.history.measure.pairs import Cut, Pairs, cuts_of
from data.history.measure.shapes import UTILIZATION, Shapes, SwingLimits
from data.history.measure.spans import Spans
from data.history.measure.sums import Sums
from data.metrics.grid import Grid
from settings import FindingLimits

FALLBACK_INTERVAL = 60.0


class Accumulated:
    """Add chunks in any cut of time; `interval` is the sampling interval of each attempt (NaN = not known)."""

    def __init__(self, spans: Spans, limits: FindingLimits) -> None:
        self.spans = spans
        self.pairs = Pairs()
        self.sums = Sums()
        self.interval = np.full(len(spans.jobs), np.nan)
        self._limits = SwingLimits(limits.swing_low, limits.swing_high)
        self._shapes: Shapes | None = None

    @property
    def shapes(self) -> Shapes:
        """Made with the interval of the first chunk that has one."""
        if self._shapes is None:
            known = self.interval[~np.isnan(self.interval)]
            self._shapes = Shapes(self.spans, self._limits, float(known[0]) if len(known) else FALLBACK_INTERVAL)
        return self._shapes

    def add(self, grid: Grid) -> None:
        if grid.interval_seconds:
            first, last = grid.window.start.timestamp(), grid.window.end.timestamp()
            here = (self.spans.start < last) & (self.spans.end > first)
            self.interval[here] = grid.interval_seconds
        self.take(cuts_of(grid, self.spans, self.pairs))

    def take(self, cuts: Iterable[Cut]) -> None:
        """Add up what was cut; UTIL is looked at before GR."""
        for cut in sorted(cuts, key=lambda one: UTILIZATION.index(one.metric) if one.metric in UTILIZATION else -1):
            self.sums.add(cut)
            self.shapes.add(cut, self.pairs)
