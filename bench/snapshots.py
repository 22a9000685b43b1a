"""What one snapshot costs at a number of nodes: cold, and the refresh after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.measured import TimedMetrics
from bench.prometheus_here import Server, prometheus_with
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
RUNS = 3
PATIENCE_SECONDS = 12.0
Row = dict[str, float | int]


class Clock:
    """Now, and further on when told: a refresh comes due without waiting for it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


def simulated(nodes: int) -> Row:
    """Both sources simulated: what the product itself costs."""
    return _best(lambda: _simulated_once(nodes))


def _simulated_once(nodes: int) -> Row:
    world, clock = World(SEED, nodes), Clock()
    return _measure(world, clock, SimulatedMetrics(world, clock), lambda: 0.0)


def from_prometheus(nodes: int) -> Row:
    """Metrics from a local Prometheus that holds the simulated cluster's series."""
    with prometheus_with(World(SEED, nodes), Clock()()) as server:
        return _best(lambda: _from_prometheus_once(nodes, server))


def _from_prometheus_once(nodes: int, server: Server) -> Row:
    server.settle()
    world, clock = World(SEED, nodes), Clock()
    return _measure(world, clock, PrometheusSource(MetricsSettings(url=server.url)), server.cpu_seconds)


def _best(measure: Callable[[], Row]) -> Row:
    """The least of each number over some runs: other programs only ever add to it. On a busy machine fewer runs."""
    begun = time.perf_counter()
    rows = [measure()]
    while len(rows) < RUNS and time.perf_counter() - begun < PATIENCE_SECONDS:
        rows.append(measure())
    return {name: min(row[name] for row in rows) for name in rows[0]}


def _measure(world: World, clock: Clock, source: MetricsSource, server_seconds: Callable[[], float]) -> Row:
    metrics, scheduler = TimedMetrics(source), SimulatedScheduler(world, clock)
    live = LiveCluster(
        scheduler, metrics, MemoryCache(), clock, refresh_seconds=30.0, limits=(120.0, 120.0), patience_seconds=120.0
    )
    row: Row = {}

    def told(name: str, ask: Callable[[], ClusterSnapshot]) -> ClusterSnapshot:
        begun, own, server = time.perf_counter(), time.process_time(), server_seconds()
        in_metrics, slurm_requests = metrics.seconds, scheduler.requests
        asked = metrics.requests
        snapshot = ask()
        wall = time.perf_counter() - begun
        row.update(
            {
                f"{name}_seconds": round(wall, 3),
                f"{name}_cpu_seconds": round(time.process_time() - own, 3),
                f"{name}_server_cpu_seconds": round(server_seconds() - server, 3),
                f"{name}_metrics_share": round(min(1.0, (metrics.seconds - in_metrics) / wall), 3),
                f"{name}_metrics_requests": metrics.requests - asked,
                f"{name}_slurm_requests": scheduler.requests - slurm_requests,
            }
        )
        return snapshot

    first = told("cold", live.snapshot)
    live.associations()
    told("refresh", lambda: _refreshed(live, clock, first))
    measured = sum(gpu.utilization is not None for gpu in first.gpus)
    sizes: Row = {"nodes": len(first.nodes), "devices": len(first.gpus), "devices_measured": measured}
    return {**sizes, "jobs": len(first.jobs), **row}


def _refreshed(live: LiveCluster, clock: Clock, before: ClusterSnapshot) -> ClusterSnapshot:
    """The next picture; the old one is served meanwhile."""
    clock.ahead += timedelta(seconds=31)
    until = time.perf_counter() + 120
    while (snapshot := live.snapshot()).version == before.version:
        time.sleep(0.005)
        if time.perf_counter() > until:
            raise TimeoutError("no new picture within two minutes")
    return snapshot
