"""The two protocols that everything above the sources stands on.

Every method may raise a `data.errors.SourceError`; none returns an empty answer for a failed one. `at` is an
aware UTC time; None means now. A source that cannot answer for a past moment raises `CannotKnow`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from data.model import (
    Association,
    Job,
    Node,
    Partition,
    PendingDetail,
    Reading,
    Reservation,
    Rows,
    Scope,
    Series,
    SourceHealth,
    SumAsk,
    SumsReading,
    Window,
    WindowReading,
)

if TYPE_CHECKING:
    from data.metrics.grid import Grid


class SchedulerSource(Protocol):
    """Reads Slurm. `kind` is rest, commands or simulated; `requests` counts what went over the wire."""

    kind: str

    @property
    def requests(self) -> int: ...

    def nodes(self, at: datetime | None = None) -> Rows[Node]: ...

    def jobs(self, at: datetime | None = None) -> Rows[Job]:
        """Running, pending, suspended and completing jobs, with `devices` while slurmctld knows them."""

    def finished_jobs(self, since: datetime, until: datetime) -> Rows[Job]:
        """Attempts with start < until and end > since, requeued ones too, CPU and memory from step rows."""

    def job(self, job_id: str) -> tuple[Job, ...]:
        """All attempts and parts that this id names (123, 123_7, 123+1), newest first; () = no such job."""

    def job_script(self, job: Job) -> str | None:
        """The batch script of one attempt, as submitted; None = Slurm has none of it. Raises CannotKnow where this
        source gives no scripts."""

    def partitions(self) -> Rows[Partition]: ...

    def associations(self) -> Rows[Association]: ...

    def reservations(self) -> Rows[Reservation]: ...

    def pending_details(self) -> Rows[PendingDetail]: ...

    def accounted_running(self) -> Rows[Job]:
        """What accounting believes to run or to be suspended now, whether slurmctld knows it or not."""

    def health(self) -> SourceHealth: ...


class MetricsSource(Protocol):
    """Reads GPU and host metrics. Metric names are those of `data.metrics.registry`; ratios come as 0..1."""

    kind: str

    @property
    def requests(self) -> int: ...

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        """The newest value per device not older than two scrape intervals (older = stale = absent)."""

    def window(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> WindowReading:
        """Raw samples summed per (device, job label) and, for host metrics, per (job label, node)."""

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        """Raw samples of all devices (or those of some nodes) summed over windows that end at `at`: one request.
        `restarts` are windows in seconds in which exporters may have been away."""

    def grid(
        self,
        samples: Sequence[str],
        steps: Sequence[str],
        window: Window,
        scope: Scope | None = None,
        step_seconds: float = 300.0,
    ) -> Grid:
        """Samples of all devices (or those of the scope's nodes) in bulk: raw for some metrics, sums per step for
        others. The window begins and ends at whole steps since 1970. Requests do not depend on devices or jobs."""

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        """Samples for plots. Refuses (BadRequest) more than 11,000 points a series; choose a larger step."""

    def recorded(self) -> Sequence[str] | None:
        """Names of the series that our recording rules make now; None = not known, or there cannot be any."""

    def health(self) -> SourceHealth: ...
