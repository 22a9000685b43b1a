"""Pieces, statistics and attempts for the tests of the detailed metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from data.cache import MemoryCache
from data.efficiency import GpuHours
from data.live import LiveCluster
from data.model import Device, Job, Scope, Series, SourceHealth, Window, WindowReading, WindowStat
from data.queries.metrics import Group, Question
from data.queries.metrics.model import Cell, Owner, Piece
from data.sources import Sources
from settings import Settings
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, uuid_of

HOUR = Window(NOW - timedelta(hours=1), NOW)
SAMPLES = 120  # of an hour at 30 s
H100 = "NVIDIA H100 80GB HBM3"


def piece(
    job: str = "1",
    hours: float = 1.0,
    utilization: float | None = 0.5,
    model: str = "H100",
    cells: Mapping[str, float] | None = None,
    measured: float | None = None,
    **owner: object,
) -> Piece:
    """A piece of `hours`, measured whole unless told; `cells` are means over the measured hours."""
    seen = hours if measured is None else measured
    values = dict(cells or {}) | ({} if utilization is None else {"utilization": utilization})
    used = None if utilization is None else utilization * seen
    findings = owner.pop("findings", ())
    who = Owner(job, **{"user": "alice", "account": "physics", "partition": "gpu", **owner})  # type: ignore[arg-type]
    return Piece(
        who,
        model,
        GpuHours(hours, seen if used is not None else 0.0, used),
        {name: Cell(value, seen) for name, value in values.items()},
        None if utilization is None else "gpu_utilization",
        tuple(findings),  # type: ignore[arg-type]
    )


def question(group: Group = Group.USER, **more: object) -> Question:
    return Question(HOUR.start, HOUR.end, group, **more)  # type: ignore[arg-type]


def device(node: str = "gpu01", index: int = 0, model: str = H100, slice_id: str | None = None) -> Device:
    profile = "1g.10gb" if slice_id else None
    return Device(node, index, uuid_of(node, index), slice_id=slice_id, slice_profile=profile, model=model)


def stat(
    value: float,
    label: str | None = None,
    metric: str = "gpu_utilization",
    count: int = SAMPLES,
    of: Device | None = None,
    idle: int | None = None,
) -> WindowStat:
    """`count` samples that are all `value`."""
    on = of or device()
    at_rest = (count if value == 0 else 0) if idle is None else idle
    return WindowStat(metric, on.node, on, label, value * count, count, value, value, at_rest)


def host(value: float, label: str, metric: str, count: int = SAMPLES, node: str = "gpu01") -> WindowStat:
    return WindowStat(metric, node, None, label, value, count, value, value, 0)


def series(
    values: Iterable[float], label: str | None, start: float, metric: str = "gpu_utilization", of: Device | None = None
) -> Series:
    on, given = of or device(), tuple(values)
    return Series(metric, on.node, on, label, tuple(start + 30.0 * place for place in range(len(given))), given)


def answer(*stats: WindowStat, missing: tuple[str, ...] = ()) -> WindowReading:
    return WindowReading(HOUR, stats, 30.0, missing=missing)


@dataclass
class WindowMetrics(FakeMetrics):
    """Metrics with one answer for windows, and series; counts what it was asked."""

    lines: tuple[Series, ...] = ()
    missing_here: tuple[str, ...] = ()
    asked_series: list[Scope] = field(default_factory=list)

    def series(self, metrics, window, scope, step_seconds=None):  # type: ignore[no-untyped-def]
        self.asked_series.append(scope)
        return tuple(one for one in self.lines if one.metric in metrics)

    def health(self) -> SourceHealth:
        return SourceHealth(True, "2.42.0", dialects=("dcgm_exporter",), missing_metrics=self.missing_here)


def sources(
    jobs: Iterable[Job],
    *stats: WindowStat,
    finished: Iterable[Job] = (),
    settings: Settings | None = None,
    **more: object,
) -> Sources:
    """The product over these jobs and statistics at NOW."""
    missing = more.pop("missing", ())
    asked = FakeScheduler((), list(jobs), list(finished))
    measured = WindowMetrics(window_answer=answer(*stats, missing=missing), **more)  # type: ignore[arg-type]
    live = LiveCluster(asked, measured, MemoryCache(), lambda: NOW, limits=(5.0, 5.0))
    return Sources(settings or Settings(), asked, measured, live, lambda: NOW)
