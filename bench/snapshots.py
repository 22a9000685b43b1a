"""What one snapshot costs at a number of nodes: cold, and the refreshes after it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bench.measured import TimedMetrics
from bench.prometheus_here import Server
from data.cache import MemoryCache
from data.collection import collect_seldom
from data.live import LiveCluster
from data.metrics.prometheus import PrometheusSource
from data.metrics.simulated import SimulatedMetrics
from data.model import ClusterSnapshot
from data.protocols import MetricsSource
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler
from settings import MetricsSettings

SEED = 7
LEAST_REFRESHES, MOST_REFRESHES = 2, 6
REFRESHING_SECONDS = 2.0
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
    return _Measuring(world, clock, SimulatedMetrics(world, clock), lambda: 0.0).row()


def from_prometheus(nodes: int, server: Server) -> Row:
    """Metrics from a local Prometheus that holds the simulated cluster's series."""
    server.settle()
    world, clock = World(SEED, nodes), Clock()
    return _Measuring(world, clock, PrometheusSource(MetricsSettings(url=server.url)), server.cpu_seconds).row()


class _Measuring:
    """A live picture whose costs are told. `server_seconds` are those that the metrics server has computed so far."""

    def __init__(self, world: World, clock: Clock, source: MetricsSource, server_seconds: Callable[[], float]) -> None:
        self._metrics, self._scheduler = TimedMetrics(source), SimulatedScheduler(world, clock)
        self._clock, self._server_seconds = clock, server_seconds
        self._live = LiveCluster(
            self._scheduler,
            self._metrics,
            MemoryCache(),
            clock,
            refresh_seconds=30.0,
            limits=(120.0, 120.0),
            patience_seconds=120.0,
        )

    def row(self) -> Row:
        """The first picture's costs, and the mean of enough refreshes to take a few seconds: a collection of garbage
        that comes with every tenth counts as a tenth. The collector is set as it is in the server."""
        collect_seldom()
        cold, first = self._told(self._live.snapshot)
        self._live.associations()
        rows: list[Row] = []
        begun, last = time.perf_counter(), first
        while len(rows) < LEAST_REFRESHES or (
            len(rows) < MOST_REFRESHES and time.perf_counter() - begun < REFRESHING_SECONDS
        ):
            before = last
            refreshed, last = self._told(lambda: self._refreshed(before))  # noqa: B023
            rows.append(refreshed)
        measured = sum(gpu.utilization is not None for gpu in first.gpus)
        sizes: Row = {"nodes": len(first.nodes), "devices": len(first.gpus), "devices_measured": measured}
        return {**sizes, "jobs": len(first.jobs), **_named("cold", cold), **_named("refresh", _mean(rows))}

    def _told(self, ask: Callable[[], ClusterSnapshot]) -> tuple[Row, ClusterSnapshot]:
        begun, own, server = time.perf_counter(), time.process_time(), self._server_seconds()
        in_metrics, asked = self._metrics.seconds, (self._metrics.requests, self._scheduler.requests)
        snapshot = ask()
        wall = time.perf_counter() - begun
        return {
            "seconds": wall,
            "cpu_seconds": time.process_time() - own,
            "server_cpu_seconds": self._server_seconds() - server,
            "metrics_share": min(1.0, (self._metrics.seconds - in_metrics) / wall),
            "metrics_requests": self._metrics.requests - asked[0],
            "slurm_requests": self._scheduler.requests - asked[1],
        }, snapshot

    def _refreshed(self, before: ClusterSnapshot) -> ClusterSnapshot:
        """The next picture; the old one is served meanwhile."""
        self._clock.ahead += timedelta(seconds=31)
        until = time.perf_counter() + 120
        while (snapshot := self._live.snapshot()).version == before.version:
            time.sleep(0.005)
            if time.perf_counter() > until:
                raise TimeoutError("no new picture within two minutes")
        return snapshot


def _mean(rows: list[Row]) -> Row:
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


def _named(name: str, row: Row) -> Row:
    return {f"{name}_{key}": round(value, 4) for key, value in row.items()}
