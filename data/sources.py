"""The sources, the cache and the live picture as one value: opened once by the app or the command, passed down."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from data.cache import Cache, FileCache, MemoryCache
from data.enforcement.opened import OpenedEnforcement
from data.errors import CannotKnow
from data.history.engine import EngineLimits, HistoryEngine
from data.join import SignalLimits
from data.live import LiveCluster
from data.live.cluster import Told, tell_nobody
from data.live.picture import Origin
from data.live.recorded import Recorded, Recorder, nothing_recorded
from data.model import (
    Association,
    Reading,
    Scope,
    Series,
    SourceHealth,
    SumAsk,
    SumsReading,
    Window,
    WindowReading,
)
from data.private import default_folder
from data.protocols import MetricsSource, SchedulerSource
from data.recent import Recent
from data.state.opened import OpenedState
from settings import IdentityKind, MetricsKind, Settings, SlurmKind

if TYPE_CHECKING:
    from data.history.demo.keeper import DemoHistory
    from data.metrics.grid import Grid

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Sources:
    """What every query stands on.

    `recent` keeps answers about single jobs for half a minute, `views` what one viewer may see of a whole picture (as
    large as the picture, so only as many as threads ask at once), `days` the finished jobs of whole past days for an
    hour, `digests` what people used on such days for six hours, `windows` the detailed metrics and totals of a range.
    `reports` keeps answers from history for a minute. `engine` reads history, `state` is the application store and
    `enforcement` the enforcer's, which is only read; they open at their first question, in the process that asks.
    """

    settings: Settings
    scheduler: SchedulerSource
    metrics: MetricsSource
    live: LiveCluster
    clock: Clock
    recent: Recent = field(default_factory=Recent)
    views: Recent = field(default_factory=lambda: Recent(30.0, 32))
    days: Recent = field(default_factory=lambda: Recent(3600.0, 10))
    digests: Recent = field(default_factory=lambda: Recent(6 * 3600.0, 64))
    windows: Recent = field(default_factory=lambda: Recent(600.0, 8))
    reports: Recent = field(default_factory=lambda: Recent(60.0, 128))
    engine: HistoryEngine = field(default_factory=HistoryEngine)
    state: OpenedState = field(default_factory=OpenedState)
    enforcement: OpenedEnforcement = field(default_factory=OpenedEnforcement)
    demo_history: DemoHistory | None = None

    @property
    def requests(self) -> dict[str, int]:
        """What this process sent to each source so far."""
        return {"slurm": self.scheduler.requests, "metrics": self.metrics.requests}

    def associations(self) -> tuple[Association, ...]:
        """Slurm's account tree, at most ten minutes old; empty while Slurm does not give it."""
        return self.live.associations()


class NoMetrics:
    """Stands for the metrics source where none is set: nothing is measured, and nothing fails."""

    kind = "none"
    requests = 0

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        return Reading(at or datetime.now(UTC), (), missing=tuple(metrics))

    def window(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> WindowReading:
        return WindowReading(window, (), missing=tuple(metrics))

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        return SumsReading(at, ())

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        return ()

    def grid(
        self,
        samples: Sequence[str],
        steps: Sequence[str],
        window: Window,
        scope: Scope | None = None,
        step_seconds: float = 300.0,
    ) -> Grid:
        from data.metrics.grid import Grid

        return Grid(window, (), step_seconds, missing=(*samples, *steps))

    def recorded(self) -> None:
        return None

    def health(self) -> SourceHealth:
        raise CannotKnow("No metrics server is set", hint="Set metrics.kind and metrics.url.")


def open_sources(settings: Settings, *, clock: Clock | None = None, refreshed: Told = tell_nobody) -> Sources:
    """Open what the settings name; talks to no server yet. SettingsError when a setting cannot work.

    `refreshed` is told of each refresh of the live picture: its seconds, and whether it made one.
    """
    clock = clock or (lambda: datetime.now(UTC))
    scheduler, metrics = _open_pair(settings, clock)
    live = LiveCluster(
        scheduler,
        metrics,
        _open_cache(settings),
        clock,
        refresh_seconds=settings.refresh_seconds,
        limits=(settings.slurm.timeout_seconds * 2, settings.metrics.timeout_seconds * 2),
        origin=_origin(settings, scheduler, metrics),
        key=_key(settings),
        recorder=_recorder(settings),
        refreshed=refreshed,
    )
    return Sources(
        settings, scheduler, metrics, live, clock, engine=_engine(settings), demo_history=_demo_history(settings, clock)
    )


def _demo_history(settings: Settings, clock: Clock) -> DemoHistory | None:
    directory, days = settings.history.directory, settings.demo.history_days
    is_demo = settings.slurm.kind is SlurmKind.SIMULATED and settings.metrics.kind is MetricsKind.SIMULATED
    if not is_demo or directory is None or not days:
        return None
    from data.history.demo.keeper import DemoHistory

    return DemoHistory(settings, directory, clock, days)


def _engine(settings: Settings) -> HistoryEngine:
    kept = settings.history
    return HistoryEngine(EngineLimits(kept.report_threads, kept.report_memory, kept.reports_at_once))


def _open_pair(settings: Settings, clock: Clock) -> tuple[SchedulerSource, MetricsSource]:
    """Import only what is used: the terminal must answer fast."""
    if SlurmKind.SIMULATED in (settings.slurm.kind, settings.metrics.kind):
        from data.simulation import World

        world = World(settings.demo.seed)
    scheduler: SchedulerSource
    metrics: MetricsSource
    if settings.slurm.kind is SlurmKind.SIMULATED:
        from data.slurm.simulated import SimulatedScheduler

        scheduler = SimulatedScheduler(world, clock)
    elif settings.slurm.kind is SlurmKind.REST:
        from data.slurm.rest import RestSource

        scheduler = RestSource(settings.slurm, settings.cluster)
    else:
        from data.slurm.commands import CommandsSource

        scheduler = CommandsSource(settings.slurm, settings.cluster, _caller(settings))
    if settings.metrics.kind is MetricsKind.SIMULATED:
        from data.metrics.simulated import SimulatedMetrics

        metrics = SimulatedMetrics(world, clock)
    elif settings.metrics.kind is MetricsKind.PROMETHEUS:
        from data.metrics.prometheus import PrometheusSource

        metrics = PrometheusSource(settings.metrics, settings.cluster)
    else:
        metrics = NoMetrics()
    return scheduler, metrics


def _caller(settings: Settings) -> Mapping[str, str] | None:
    """Whoever runs a command in the terminal must not choose, by PATH or SLURM_CONF, who tells their role."""
    return {} if settings.identity.kind is IdentityKind.UNIX and os.getuid() != 0 else None


def _open_cache(settings: Settings) -> Cache:
    if settings.cache.kind == "memory":
        return MemoryCache()
    if settings.cache.kind == "files":
        return FileCache(settings.cache.directory or default_folder(os.environ))
    from data.shared_redis import SharedRedis, redis_address

    return SharedRedis(redis_address(settings.cache))


def _origin(settings: Settings, scheduler: SchedulerSource, metrics: MetricsSource) -> Origin:
    limits = SignalLimits(settings.findings.active_signal, settings.findings.active_power)
    return Origin(
        cluster=settings.cluster,
        scheduler_kind=scheduler.kind,
        metrics_kind=metrics.kind,
        scheduler_address=_without_password(settings.slurm.url) or None,
        metrics_address=_without_password(settings.metrics.url) or None,
        limits=limits,
        refresh_seconds=settings.refresh_seconds,
    )


def _recorder(settings: Settings) -> Recorder:
    """What the history holds of past moments; Arrow is imported when the first is asked for."""
    directory = settings.history.directory
    if directory is None:
        return nothing_recorded

    def look(moment: datetime, cluster: str) -> Recorded:
        from data.history.recorder import recorded_at

        return recorded_at(directory, cluster, moment, every=timedelta(minutes=settings.history.snapshot_minutes))

    return look


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url


def _key(settings: Settings) -> str:
    """Processes share a picture only when they ask the same sources in the same way."""
    asked = settings.model_dump_json(include={"cluster", "slurm", "metrics", "demo", "findings"})
    return f"live-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
