"""How costs grow with size, measured in rounds: each size once a round, so that load from elsewhere falls on all.

Each measurement has a forked process of its own: the heap that one size leaves behind is not the next one's to collect.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

from bench.snapshots import Row

ROUNDS = 7
_NAMES = ("cold", "refresh")
COSTS = ("cold_seconds", "refresh_seconds", "cold_computing", "refresh_computing")


def in_rounds(sizes: Sequence[int], measure: Callable[[int], Row], rounds: int = ROUNDS) -> dict[str, Any]:
    """The median of each number at each size, and how the costs grow from size to size."""
    apart(measure, sizes[0])  # unmeasured: the files that everything reads are then in memory
    table = [[with_computing(apart(measure, size)) for size in sizes] for _ in range(rounds)]
    by_size = [list(rows) for rows in zip(*table, strict=True)]
    return {"rounds": rounds, "sizes": [_medians(rows) for rows in by_size], "growth": growth(by_size)}


def apart(measure: Callable[..., Any], *arguments: Any, context: str = "fork") -> Any:
    """The call in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context(context)) as pool:
        return pool.submit(measure, *arguments).result()


def with_computing(row: Row) -> Row:
    """Seconds of computing, ours and the server's together: unlike those on the clock, they grow with no other load."""
    sums = {f"{name}_computing": row[f"{name}_cpu_seconds"] + row[f"{name}_server_cpu_seconds"] for name in _NAMES}
    return {**row, **sums}


def growth(by_size: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    """How much more a step in size costs, over how many more devices it has: 1 = linear, less = better.

    `growth` compares the medians of the sizes; `least` and `most` are of the single rounds and show the noise. `jobs`
    is the growth of the jobs over that of the devices: a larger simulated cluster has a longer queue, which costs too.
    """
    return [
        {
            "from_to": f"{small[0]['nodes']}-{large[0]['nodes']}",
            "jobs": _step(small, large, "jobs")["growth"],
            **{cost: _step(small, large, cost) for cost in COSTS},
        }
        for small, large in pairwise(by_size)
    ]


def _step(small: Sequence[Row], large: Sequence[Row], cost: str) -> dict[str, float]:
    size = large[0]["devices"] / small[0]["devices"]
    single = [after[cost] / before[cost] / size for before, after in zip(small, large, strict=True)]
    medians = [statistics.median(row[cost] for row in rows) for rows in (small, large)]
    whole = medians[1] / medians[0] / size
    return {"growth": round(whole, 3), "least": round(min(single), 3), "most": round(max(single), 3)}


def _medians(rows: Sequence[Row]) -> Row:
    return {name: round(statistics.median(row[name] for row in rows), 4) for name in rows[0]}
