"""Where in a series a device did nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 1.6  # points further apart than this many steps have a gap between them


def idle_stretches(
    times: Sequence[float], values: Sequence[float], epsilon: float | None, step: float
) -> tuple[tuple[float, float], ...]:
    """Runs (from, to) of at least two idle points without a gap between them, in the unit of `times`; () where
    `epsilon` is None, which is a metric that does not tell idleness."""
    found: list[tuple[float, float]] = []
    if epsilon is None:
        return ()
    start = last = None
    for time, value in zip(times, values, strict=True):
        if value > epsilon or (last is not None and time - last > GAP * step):
            _close(found, start, last)
            start = last = None
        if value <= epsilon:
            start, last = (time if start is None else start), time
    _close(found, start, last)
    return tuple(found)


def _close(found: list[tuple[float, float]], start: float | None, last: float | None) -> None:
    if start is not None and last is not None and last > start:
        found.append((start, last))
