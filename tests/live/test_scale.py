"""A thousand nodes: the join and the way through the cache stay fast, and grow with the cluster and no faster."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from data.collection import without_collection
from data.inventory import Inventory
from data.join import Joined, join
from data.live.coding import read_picture, write_picture
from data.live.picture import Picture
from data.model import ClusterSnapshot, Job, Node, Reading
from data.totals import totals
from tests.live.builders import NOW, make_job, make_node, measure, read

VALUES = {
    "graphics_engine_activity": 0.4,
    "gpu_memory_used_bytes": 1e10,
    "power_watts": 400.0,
    "temperature_celsius": 50.0,
    "sm_activity": 0.3,
    "xid": 0.0,
}


def cluster(nodes: int) -> tuple[list[Node], list[Job], Reading]:
    """Nodes of 8 GPUs, four jobs of two GPUs on each, and four waiting jobs for each that runs."""
    names = [f"n{number:04d}" for number in range(nodes)]
    running = [make_job(4 * n + k, name, 2, (2 * k, 2 * k + 1)) for n, name in enumerate(names) for k in range(4)]
    waiting = [make_job(10**6 + number, None, 4, None, "PENDING") for number in range(16 * nodes)]
    readings = [
        measure(name, gpu, 0.5, [str(4 * n + gpu // 2)], VALUES) for n, name in enumerate(names) for gpu in range(8)
    ]
    return [make_node(name, gpus_allocated=8) for name in names], running + waiting, read(*readings)


def fastest(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of three runs: the machine may be busy with other things."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        with without_collection():
            work()
        times.append(time.process_time() - begun)
    return min(times)


def joined(parts: tuple[list[Node], list[Job], Reading]) -> Joined:
    return join(*parts, Inventory(), NOW)


@pytest.fixture(scope="module")
def thousand() -> tuple[list[Node], list[Job], Reading]:
    return cluster(1000)


def test_eight_thousand_gpus_and_twenty_thousand_jobs_join_in_half_a_second(thousand):
    result = joined(thousand)
    assert len(result.gpus) == 8000
    assert all(gpu.job_ids for gpu in result.gpus)
    assert result.notes == ()
    assert fastest(lambda: joined(thousand)) < 0.5


def test_the_join_grows_with_the_cluster_and_no_faster(thousand):
    small = cluster(250)
    assert fastest(lambda: joined(thousand)) < 8 * fastest(lambda: joined(small))


def test_a_picture_of_eight_thousand_gpus_goes_through_the_cache_in_well_under_half_a_second(thousand):
    nodes, jobs, reading = thousand
    result = joined(thousand)
    snapshot = ClusterSnapshot("demo", NOW, NOW, tuple(nodes), result.gpus, tuple(jobs[:6000]))
    picture = Picture(snapshot, reading, result.inventory)
    data = write_picture(picture)
    assert fastest(lambda: write_picture(picture)) < 0.5
    assert fastest(lambda: read_picture(data)) < 0.5
    assert fastest(lambda: totals(snapshot)) < 0.5
