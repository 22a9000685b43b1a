"""A small cluster with a half-idle job, its neighbor, a waiting and a finished one, for the browser tests of jobs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from data.cache import MemoryCache
from data.live import LiveCluster
from data.model import Job, JobUsage, PendingDetail, Series, Tres, WindowReading, WindowStat
from data.model import Window as Span
from data.sources import Sources
from settings import Settings
from tests.live.builders import NOW, FakeScheduler, make_job, make_node, measure
from tests.queries.plotted import Plotted
from tests.services.web import Web, open_still

START = NOW - timedelta(hours=2)
HOSTILE = "<script>window.hit=1</script>\"'\u202e\u05d0bc" + "x" * 200


def series(index: int, job_id: int = 7) -> Series:
    """Two hours at 30 s with a gap of ten minutes; GPU 1 did nothing."""
    kept = [at for at in range(240) if not 100 < at < 120]
    times = tuple(START.timestamp() + 30 * at for at in kept)
    values = tuple(0.0 if index == 1 else 0.4 + 0.5 * (at % 10 > 4) for at in kept)
    device = measure("gpu01", index).device
    return Series("gpu_utilization", "gpu01", device, str(job_id), times, values)


def stats(job_id: int = 7) -> tuple[WindowStat, ...]:
    found = []
    for index, mean in enumerate((0.65, 0.0)):
        device = measure("gpu01", index).device
        idle = 240 if mean == 0 else 0
        found.append(WindowStat("gpu_utilization", "gpu01", device, str(job_id), mean * 240, 240, mean, mean, idle))
        gib = 1 << 30
        for metric, value in (("gpu_memory_used_bytes", 8 * gib), ("gpu_memory_total_bytes", 80 * gib)):
            found.append(WindowStat(metric, "gpu01", device, str(job_id), value * 240, 240, value, value, 0))
    return tuple(found)


def running(**changes: object) -> Job:
    fields: dict[str, Any] = {"command": "/home/alice/run.sh", "is_batch": True, "name": "train_llm", **changes}
    return make_job(7, "gpu01", 2, (0, 1), **fields)


def jobs(**changes: object) -> list[Job]:
    hers: dict[str, Any] = {"user": "mallory", "account": "chemistry", "name": "secret-run"}
    asked = Tres(cpus=8, gpus=2, nodes=1)
    return [
        running(**changes),
        make_job(8, "gpu01", 2, (2, 3), **hers),
        make_job(9, None, 2, None, "PENDING", reason="Priority", requested=asked, priority=120),
        make_job(10, None, 2, None, "PENDING", reason="Resources", requested=asked, priority=900, **hers),
    ]


def finished() -> Job:
    end = NOW - timedelta(hours=3)
    times: dict[str, Any] = {"start_time": end - timedelta(hours=5), "end_time": end, "elapsed_seconds": 18_000.0}
    job = make_job(5, "gpu01", 2, state="COMPLETED", **times)
    return replace(job, usage=JobUsage(gpu_utilization=0.31, cpu_seconds=36_000.0, memory_used_bytes=1 << 32))


def cluster(**changes: object) -> tuple[FakeScheduler, Plotted]:
    """Sources to be changed before they are shown; `changes` are of job 7."""
    asked = FakeScheduler([make_node("gpu01", gpus_allocated=4), make_node("gpu02")], jobs(**changes), [finished()])
    parts = (("fairshare", 100.0), ("age", 20.0))
    asked.details = [PendingDetail(9, "9", NOW + timedelta(hours=1), 120.0, parts)]
    measured = [measure("gpu01", index, mean, ["7"]) for index, mean in enumerate((0.65, 0.0))]
    window = WindowReading(Span(START, NOW), stats(), 30.0)
    metrics = Plotted(measured, window_answer=window, given=[series(0), series(1)])
    return asked, metrics


def show(web: Web, asked: FakeScheduler, metrics: Plotted) -> None:
    live = LiveCluster(asked, metrics, MemoryCache(), lambda: NOW, limits=(0.25, 0.25))
    open_still(web.app, Sources(Settings(), asked, metrics, live, lambda: NOW))
