"""What the verdicts of all running GPU jobs cost from a local Prometheus: requests, and seconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from bench.prometheus_here import prometheus_with
from data.cache import MemoryCache
from data.live import LiveCluster
from data.metrics.prometheus import PrometheusSource
from data.model import Window
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from policy.queries import judge_all
from settings import MetricsSettings, Settings

SEED, RUNS = 7, 3
PAST = timedelta(hours=4, minutes=10)
METRICS = ("gpu_utilization", "graphics_engine_activity", "power_watts")
Row = dict[str, float | int]


def verdicts(nodes: int) -> Row:
    """Four hours of UTIL, GR and power at 30 s; the least of some runs, for other programs only add to it."""
    world, now = World(SEED, nodes), datetime.now(UTC)
    with prometheus_with(world, now, Window(now - PAST, now), METRICS) as server:
        source = PrometheusSource(MetricsSettings(url=server.url, timeout_seconds=120))
        live = LiveCluster(
            SimulatedScheduler(world, lambda: now), source, MemoryCache(), lambda: now, limits=(120.0, 120.0)
        )
        snapshot = live.snapshot()
        rows = []
        for _ in range(RUNS):
            server.settle()
            asked, begun, own, theirs = source.requests, time.perf_counter(), time.process_time(), server.cpu_seconds()
            found = judge_all(Settings(), source, snapshot)
            row: Row = {
                "seconds": round(time.perf_counter() - begun, 3),
                "cpu_seconds": round(time.process_time() - own, 3),
                "server_cpu_seconds": round(server.cpu_seconds() - theirs, 3),
                "requests": source.requests - asked,
            }
            rows.append(row)
        assert not found.fault, found.fault
        known = {"nodes": nodes, "devices": len(snapshot.gpus), "jobs": found.running_gpu_jobs}
        low = sum(count for status, count in found.counts.items() if status == "low")
        return {**known, "low": low, **{name: min(row[name] for row in rows) for name in rows[0]}}
