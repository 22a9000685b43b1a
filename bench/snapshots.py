"""What one snapshot costs at a number of nodes: cold, and the refresh after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.measured import TimedMetrics
from bench.prometheus_here import prometheus_with
from data.cache import MemoryCache
from data.live import LiveCluster
from data.metrics.prometheus import PrometheusSource
from data.metrics.simulated import SimulatedMetrics
from data.model import ClusterSnapshot
from data.protocols import MetricsSource
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from settings import MetricsSettings

SEED = 7
Row = dict[str, float | int]


class Clock:
    """Now, and further on when told: a refresh comes due without waiting for it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def simulated(nodes: int) -> Row:
    """Both sources simulated: what the product itself costs."""
    world, clock = World(SEED, nodes), Clock()
    return _measure(world, clock, SimulatedMetrics(world, clock))


def from_prometheus(nodes: int) -> Row:
    """Metrics from a local Prometheus that holds the simulated cluster's series."""
    world, clock = World(SEED, nodes), Clock()
    with prometheus_with(world, clock()) as url:
        return _measure(world, clock, PrometheusSource(MetricsSettings(url=url)))


def _measure(world: World, clock: Clock, source: MetricsSource) -> Row:
    metrics, scheduler = TimedMetrics(source), SimulatedScheduler(world, clock)
    live = LiveCluster(
        scheduler, metrics, MemoryCache(), clock, refresh_seconds=30.0, limits=(120.0, 120.0), patience_seconds=120.0
    )
    computing = time.process_time()
    cold, snapshot = _timed(live.snapshot)
    computing = time.process_time() - computing
    cold_metrics, cold_requests = metrics.seconds, metrics.requests
    slurm_requests, metrics.seconds = scheduler.requests, 0.0
    warm = _refresh(live, clock, snapshot)
    return {
        "nodes": len(snapshot.nodes),
        "devices": len(snapshot.gpus),
        "devices_measured": sum(gpu.utilization is not None for gpu in snapshot.gpus),
        "jobs": len(snapshot.jobs),
        "cold_seconds": round(cold, 3),
        "cold_cpu_seconds": round(computing, 3),
        "cold_metrics_seconds": round(cold_metrics, 3),
        "cold_metrics_share": round(cold_metrics / cold, 3),
        "cold_metrics_requests": cold_requests,
        "refresh_seconds": round(warm, 3),
        "refresh_metrics_share": round(min(1.0, metrics.seconds / warm), 3),
        "refresh_metrics_requests": metrics.requests - cold_requests,
        "refresh_slurm_requests": scheduler.requests - slurm_requests,
    }


def _refresh(live: LiveCluster, clock: Clock, before: ClusterSnapshot) -> float:
    """Seconds until the next picture is there; the old one is served meanwhile."""
    clock.ahead += timedelta(seconds=31)
    begun = time.perf_counter()
    while live.snapshot().version == before.version:
        time.sleep(0.005)
        if time.perf_counter() - begun > 120:
            raise TimeoutError("no new picture within two minutes")
    return time.perf_counter() - begun


def _timed(ask: Callable[[], ClusterSnapshot]) -> tuple[float, ClusterSnapshot]:
    begun = time.perf_counter()
    answer = ask()
    return time.perf_counter() - begun, answer
