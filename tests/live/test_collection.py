"""The collector of garbage and the size of the cluster: a refresh in the server sets off no collection."""

from __future__ import annotations

import subprocess
import sys

REFRESHES = """
import gc
from datetime import UTC, datetime, timedelta

from data.cache import MemoryCache
from data.collection import collect_seldom
from data.live import LiveCluster
from data.metrics.simulated import SimulatedMetrics
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler

class Clock:
    now = datetime(2026, 3, 10, 12, tzinfo=UTC)
    def __call__(self):
        return self.now

world, clock = World(7, 100), Clock()
live = LiveCluster(SimulatedScheduler(world, clock), SimulatedMetrics(world, clock), MemoryCache(), clock)
seen, collections = live.snapshot(), []
live.associations()
if SELDOM:
    collect_seldom()
gc.callbacks.append(lambda phase, info: collections.append(info["generation"]) if phase == "start" else None)
for _ in range(3):
    clock.now += timedelta(seconds=31)
    while (shown := live.snapshot()).version == seen.version:
        pass
    seen = shown
print(len(seen.gpus), len(collections))
"""


def gpus_and_collections(is_seldom: bool) -> list[int]:
    """In a process of its own: the collector belongs to all of a process."""
    code = REFRESHES.replace("SELDOM", str(is_seldom))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120)
    return [int(word) for word in done.stdout.split()]


def test_refreshes_set_off_no_collection_where_the_server_has_set_it_so() -> None:
    assert gpus_and_collections(is_seldom=True) == [800, 0]
    assert gpus_and_collections(is_seldom=False)[1] > 10
