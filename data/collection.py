"""Python's garbage collector, kept out of the way of bulk work.

A picture of a large cluster is hundreds of thousands of small facts, none of them garbage. With Python's own
thresholds a refresh sets off a hundred small collections, and a full one once the picture outgrows a quarter of the
program itself: the cost for each node then rises with the number of nodes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# More new objects than a refresh of 1,000 nodes leaves between a new picture and the end of the old one.
_YOUNG, _MIDDLE, _OLD = 200_000, 10, 10


@contextmanager
def without_collection() -> Iterator[None]:
    """Many new objects at once make the collector run again and again, and none of them is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_seldom() -> None:
    """For a program at the end of its start: what is there stays for good, so the collector never looks at it again,
    and it looks at new objects seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
