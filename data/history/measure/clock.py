"""The hours of many attempts, laid end to end: which UTC hours each ran in, and for how many seconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data.history.measure.spans import HOUR, Spans
from data.history.measure.use import Floats, Ints, per_owner


@dataclass(frozen=True, slots=True)
class Clock:
    """Cell n is hour `hour[n]` (hours since 1970) of attempt `attempt[n]`, of which `seconds[n]` ran. The cells of
    attempt k begin at `offset[k]`, its first hour is `first[k]`."""

    attempt: Ints
    hour: Ints
    seconds: Floats
    offset: Ints
    first: Ints

    def cells(self, attempt: Ints, hour: Ints) -> Ints:
        """Cell numbers of (attempt, hour) pairs within what ran."""
        last = self.offset[attempt + 1] - 1
        found: Ints = np.clip(self.offset[attempt] + hour - self.first[attempt], self.offset[attempt], last)
        return found

    def total(self, attempts: int) -> Floats:
        """Seconds run by each attempt within what was read."""
        return per_owner(self.attempt, self.seconds, attempts)

    def of(self, attempt: int) -> slice:
        return slice(int(self.offset[attempt]), int(self.offset[attempt + 1]))


def clock_of(spans: Spans, elapsed: Floats) -> Clock:
    """Lay out the hours. `elapsed` is what Slurm counts as run time within what was read (suspended time left out):
    where it is less than the clock says and nobody knows when the rest was, every hour is shortened alike."""
    first = np.floor(spans.start / HOUR).astype(np.int64)
    last = np.maximum(first + 1, np.ceil(spans.end / HOUR).astype(np.int64))
    size = np.where(spans.end > spans.start, last - first, 0)
    offset = np.concatenate([[0], np.cumsum(size)])
    attempt = np.repeat(np.arange(len(size)), size)
    hour = np.arange(int(offset[-1])) - offset[attempt] + first[attempt]
    low, high = np.maximum(spans.start[attempt], hour * HOUR), np.minimum(spans.end[attempt], (hour + 1) * HOUR)
    seconds = np.maximum(0.0, high - low)
    for place, holes in spans.holes.items():
        mine = slice(int(offset[place]), int(offset[place + 1]))
        for begin, end in holes:
            seconds[mine] -= np.maximum(0.0, np.minimum(high[mine], end) - np.maximum(low[mine], begin))
    ran = per_owner(attempt, seconds, len(size))
    factor = np.where(ran > 0, np.where(np.isnan(elapsed), 1.0, elapsed / np.maximum(ran, 1e-9)), 1.0)
    return Clock(attempt, hour, seconds * factor[attempt], offset, first)
