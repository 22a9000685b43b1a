"""What it costs to collect a day of ended jobs, and to read their summaries."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from data import js1
from data.history.collector import Collector
from data.history.store import writing
from data.js1 import GpuSummary, NodeSummary, Summary
from data.model import Job, NodeDevices, Rows, Tres
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from data.sources import NoMetrics, Sources, open_sources
from settings import HistorySettings, MetricsSettings, Settings, SlurmSettings

JOBS, SUMMARIES = 10_000, 100_000
_NOW = datetime(2026, 3, 10, 20, tzinfo=UTC)


class _Ended(SimulatedScheduler):
    """The simulated cluster, with as many ended jobs as asked for."""

    def __init__(self, count: int) -> None:
        super().__init__(World(7), lambda: _NOW)
        self._ended = [_job(number) for number in range(count)]

    def finished_jobs(self, since: datetime, until: datetime) -> Rows[Job]:
        self.requests += 1
        return Rows(tuple(job for job in self._ended if job.end_time and job.end_time > since))


def collected() -> dict[str, Any]:
    """Seconds and requests for 100 and for 10,000 ended jobs with JS1 summaries."""
    few, many = _collect(100), _collect(JOBS)
    return {"jobs": JOBS, **many, "requests_for_100_jobs": few["requests"]}


def summaries_read() -> dict[str, Any]:
    """Seconds to decode 100,000 summaries of four GPUs; of CPU too, which says more on a busy machine."""
    text = js1.encode(_summary(4))
    begun, spent = time.perf_counter(), time.process_time()
    for _ in range(SUMMARIES):
        js1.decode(text)
    return {"summaries": SUMMARIES, **_since(begun, spent)}


def _collect(count: int) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        directory = Path(folder) / "history"
        settings = Settings(
            slurm=SlurmSettings.model_validate({"kind": "simulated"}),
            metrics=MetricsSettings.model_validate({"kind": "none"}),
            history=HistorySettings(directory=directory),
        )
        scheduler = _Ended(count)
        sources = _sources(settings, scheduler)
        begun, spent = time.perf_counter(), time.process_time()
        with writing(directory) as store:
            numbers = Collector(sources, store).run()
        cost = _since(begun, spent)
    assert numbers.written == count
    return {**cost, "requests": scheduler.requests}


def _since(begun: float, spent: float) -> dict[str, float]:
    seconds, cpu = time.perf_counter() - begun, time.process_time() - spent
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2)}


def _sources(settings: Settings, scheduler: SimulatedScheduler) -> Sources:
    opened = open_sources(settings, clock=lambda: _NOW)
    return replace(opened, scheduler=scheduler, metrics=NoMetrics())


def _job(number: int) -> Job:
    start = _NOW - timedelta(hours=8, seconds=number % 3600)
    end = start + timedelta(minutes=30 + number % 300)
    gpus = 1 + number % 4
    return Job(
        "larch",
        1_000_000 + number,
        str(1_000_000 + number),
        "COMPLETED",
        user=f"user{number % 200}",
        account=f"group{number % 30}",
        partition="gpu",
        submit_time=start - timedelta(minutes=10),
        eligible_time=start - timedelta(minutes=10),
        start_time=start,
        end_time=end,
        elapsed_seconds=(end - start).total_seconds(),
        nodes=("gpu01",),
        allocated=Tres(8 * gpus, gpus << 36, 1, gpus=gpus),
        devices=(NodeDevices("gpu01", gpus, None, "h100"),),
        admin_comment=js1.encode(_summary(gpus)),
    )


def _summary(gpus: int) -> Summary:
    each = tuple(GpuSummary(minor, 0.5, 30 << 30, 80 << 30) for minor in range(gpus))
    return Summary((NodeSummary("gpu01", 8 * gpus, 3600.0, 1 << 33, 1 << 36, each),), 7200.0, gpus)
