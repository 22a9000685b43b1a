"""One process of many: asks for the picture with many threads at once and prints what it saw and what it cost."""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from data.cache import FileCache
from data.live import LiveCluster
from data.shared_redis import SharedRedis
from tests.live.builders import FakeMetrics, FakeScheduler, make_job, make_node, measure


def main(place: str, threads: int) -> None:
    clock = lambda: datetime.now(UTC)  # noqa: E731
    scheduler = FakeScheduler([make_node(gpus_allocated=1)], [make_job(indices=(0,))], delay=0.2)
    metrics = FakeMetrics([measure()], clock=clock, delay=0.2)
    cache = SharedRedis(place) if "://" in place else FileCache(Path(place))
    live = LiveCluster(scheduler, metrics, cache, clock, limits=(10.0, 10.0))
    print("ready", flush=True)
    sys.stdin.readline()
    seen: list[str] = []
    begun = time.monotonic()
    workers = [threading.Thread(target=lambda: seen.append(live.snapshot().version)) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.monotonic() - begun
    for thread in threading.enumerate():  # one that ends at once does not share its picture
        if thread is not threading.current_thread():
            thread.join(10)
    answer = {"versions": sorted(set(seen)), "count": len(seen), "requests": metrics.requests, "seconds": took}
    print(json.dumps(answer), flush=True)


main(sys.argv[1], int(sys.argv[2]))
