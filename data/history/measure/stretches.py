"""Stretches of a run in which all of its measured devices were idle, from one byte per sampling interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data.history.measure.use import Bytes

SEEN_IDLE, SEEN_BUSY = 1, 2


def idle_stretches(devices: Sequence[Bytes], holes: Sequence[tuple[float, float]] = ()) -> tuple[int, int, int]:
    """Intervals of the longest stretch, of the one at the start and of the one at the end.

    Bits of a byte: SEEN_IDLE, SEEN_BUSY; 0 = no sample. One interval without a sample is late, not unmeasured: it
    counts as the ones around it. `holes` are suspended parts in intervals from the start: they are no part of the run.
    """
    if not devices:
        return 0, 0, 0
    seen = np.bitwise_or.reduce(devices)
    if holes:
        kept = np.ones(len(seen), dtype=np.bool_)
        for begin, end in holes:
            kept[max(0, int(np.ceil(begin))) : max(0, int(np.floor(end)))] = False
        seen = seen[kept]
    if not len(seen):
        return 0, 0, 0
    idle = _bridged(seen) == SEEN_IDLE
    edges = np.flatnonzero(np.diff(np.concatenate([[False], idle, [False]])))
    lengths = edges[1::2] - edges[::2]
    if not len(lengths):
        return 0, 0, 0
    at_start = int(lengths[0]) if edges[0] == 0 else 0
    at_end = int(lengths[-1]) if edges[-1] == len(idle) else 0
    return int(lengths.max()), at_start, at_end


def _bridged(seen: Bytes) -> Bytes:
    """Single gaps filled: idle only between idle ones; at the edges like the neighbor."""
    before, after = np.roll(seen, 1), np.roll(seen, -1)
    before[0], after[-1] = after[0], before[-1]
    is_single = (seen == 0) & (before > 0) & (after > 0)
    filled: Bytes = np.where(is_single, before | after, seen)
    return filled
