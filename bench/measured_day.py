"""What it costs to measure a day of a cluster from a Prometheus: the collector's part that grows with the cluster."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from bench.prometheus_here import prometheus_with
from data.history.measure import jobs_table, measure, usage_table
from data.metrics.prometheus import PrometheusSource
from data.model import Window
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from settings import MetricsSettings, Settings

SEED, NODES = 7, 42
METRICS = (
    "gpu_utilization",
    "graphics_engine_activity",
    "sm_activity",
    "tensor_activity",
    "gpu_memory_used_bytes",
    "power_watts",
)
Row = dict[str, float | int]


def measured_day() -> Row:
    """336 GPUs, 24 h at 30 s: requests, seconds of reading and adding up, and seconds of making rows."""
    world = World(SEED, NODES)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    day = Window(now - timedelta(days=1), now)
    jobs = SimulatedScheduler(world, lambda: now).finished_jobs(day.start, day.end).rows
    whole = [job for job in jobs if job.start_time and job.start_time >= day.start]
    with prometheus_with(world, now, day, METRICS) as server:
        source = PrometheusSource(MetricsSettings(url=server.url, scrape_interval_seconds=30, timeout_seconds=120))
        begun, own = time.perf_counter(), time.process_time()
        found = measure(whole, source, now=now, settings=Settings())
        read, own = time.perf_counter() - begun, time.process_time() - own
    begun = time.perf_counter()
    uses = found.uses.values()
    rows = jobs_table(uses, collected_at=now, account_path={}).num_rows
    hours = usage_table(uses, collected_at=now, account_path={}).num_rows
    return {
        "gpus": 8 * NODES,
        "metrics": len(METRICS),
        "jobs": rows,
        "hours": hours,
        "requests": source.requests,
        "measure_seconds": round(read, 2),
        "measure_cpu_seconds": round(own, 2),
        "rows_seconds": round(time.perf_counter() - begun, 2),
    }
