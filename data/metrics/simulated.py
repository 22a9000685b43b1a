"""The simulated cluster's metrics: the newest samples, exact sums over the scrapes, and series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from data.errors import BadRequest
from data.metrics.grid import STEP_SECONDS, Grid
from data.model import Reading, Scope, Series, SourceHealth, SumAsk, SumsReading, Window, WindowReading, WindowSum
from data.simulation import World
from data.simulation.clockwork import seconds, utc
from data.simulation.grid import INTERVAL
from data.simulation.gridding import grid_runs
from data.simulation.hosts import HOST_METRICS
from data.simulation.plots import series_of
from data.simulation.readings import newest_readings
from data.simulation.signals import ENERGY, SIGNALS
from data.simulation.sums import device_stats, host_stats

STALE_AFTER = 2 * INTERVAL
MOST_POINTS = 11_000
_DEVICE_METRICS = frozenset({*SIGNALS, ENERGY})
_IN_GRIDS = (_DEVICE_METRICS | frozenset(HOST_METRICS)) - {"xid"}


class SimulatedMetrics:
    """MetricsSource of the simulated cluster. `clock` is the only source of "now"."""

    kind = "simulated"

    def __init__(self, world: World, clock: Callable[[], datetime]) -> None:
        self._world = world
        self._clock = clock
        self.requests = 0

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        """The newest sample of every device not older than 60 s. Raises BadRequest for a moment ahead of the clock."""
        self.requests += 1
        when = self._clock() if at is None else at
        names = [name for name in metrics if name in _DEVICE_METRICS]
        devices, newest = newest_readings(self._world, names, self._past(when), STALE_AFTER)
        return Reading(
            when,
            devices,
            sample_time=None if newest is None else utc(newest),
            interval_seconds=INTERVAL,
            missing=_missing(metrics),
            dialects=("simulated",),
        )

    def window(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> WindowReading:
        """Sums of all samples in the window, exact to the sample. Raises BadRequest for one that ends ahead of now."""
        self.requests += 1
        span = self._span(window)
        labels, nodes = (scope.job_labels, scope.nodes) if scope else (None, None)
        devices = [name for name in metrics if name in _DEVICE_METRICS]
        hosts = [name for name in metrics if name in HOST_METRICS]
        stats = device_stats(self._world, devices, *span, labels, nodes) if devices else []
        stats += host_stats(self._world, hosts, *span, labels, nodes) if hosts else []
        return WindowReading(window, tuple(stats), INTERVAL, missing=_missing(metrics))

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        """Sums of all samples in windows up to `at`; the simulated exporters never restart."""
        self.requests += 1
        end = self._past(at)
        sums: list[WindowSum] = []
        for window in sorted({ask.window_seconds for ask in asks}):
            here = {ask.metric: ask for ask in asks if ask.window_seconds == window and ask.metric in _DEVICE_METRICS}
            for stat in device_stats(self._world, list(here), end - window, end, None, nodes):
                if stat.device is not None and (stat.device.is_slice or not here[stat.metric].instead_of):
                    extremes = (stat.count, stat.sum, stat.minimum, stat.maximum)
                    sums.append(WindowSum(stat.metric, stat.node, stat.device, stat.job_label, window, *extremes))
        return SumsReading(at, tuple(sums), INTERVAL)

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterator[Series]:
        """All samples, or with `step_seconds` the mean of each step at the step's end; a step without samples is
        absent. Raises BadRequest above 11,000 points a series."""
        self.requests += 1
        start, end = self._span(window)
        step = INTERVAL if step_seconds is None else step_seconds
        if not step > 0 or (end - start) / step > MOST_POINTS:
            raise BadRequest(
                f"{(end - start) / 3600:.1f} h in steps of {step:g} s cannot be a series of {MOST_POINTS} points",
                hint=f"Choose a step of at least {max(1.0, (end - start) / MOST_POINTS):.0f} s.",
            )
        known = [name for name in metrics if name in _DEVICE_METRICS or name in HOST_METRICS]
        return series_of(self._world, known, (start, end), scope.job_labels, scope.nodes, step_seconds)

    def grid(
        self,
        samples: Sequence[str],
        steps: Sequence[str],
        window: Window,
        scope: Scope | None = None,
        step_seconds: float = STEP_SECONDS,
    ) -> Grid:
        """All samples of some metrics and sums per step of others, up to now."""
        self.requests += 1
        start, end = seconds(window.start), min(seconds(window.end), seconds(self._clock()))
        raw, added = ([name for name in names if name in _IN_GRIDS] for names in (samples, steps))
        nodes = scope.nodes if scope else None
        runs = tuple(grid_runs(self._world, raw, added, start, end, nodes, step_seconds)) if end > start else ()
        missing = tuple(name for name in (*samples, *steps) if name not in _IN_GRIDS)
        return Grid(window, runs, step_seconds, INTERVAL, missing=missing)

    def recorded(self) -> None:
        """The simulated cluster has no server that could record."""
        return

    def health(self) -> SourceHealth:
        self.requests += 1
        devices, _ = newest_readings(self._world, (), self._past(self._clock()), STALE_AFTER)
        return SourceHealth(
            True,
            "simulated",
            0.0,
            ("simulated",),
            INTERVAL,
            cluster_labels=(self._world.cluster,),
            hosts=tuple(dict.fromkeys(reading.device.node for reading in devices)),
            notes=("This is the simulated cluster.",),
        )

    def _past(self, when: datetime) -> float:
        moment = seconds(when)
        if moment > seconds(self._clock()):
            raise BadRequest(f"{when.isoformat()} is in the future", hint="Ask for a moment that has passed.")
        return moment

    def _span(self, window: Window) -> tuple[float, float]:
        start, end = seconds(window.start), self._past(window.end)
        if end <= start:
            raise BadRequest(
                f"the window ends at {window.end.isoformat()}, not after its start {window.start.isoformat()}",
                hint="Give a start before the end.",
            )
        return start, end


def _missing(metrics: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in metrics if name not in _DEVICE_METRICS and name not in HOST_METRICS)
