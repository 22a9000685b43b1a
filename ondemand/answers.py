"""What the pages ask for, whoever answers: a Fullwarp server, or Slurm itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from data.efficiency import GpuHours
from data.queries.job_report import JobAnswer
from data.queries.job_series import JobSeries
from data.queries.jobs import JobPage
from data.queries.live import ClusterStatus
from policy.model import JobVerdict
from policy.queries import VerdictList
from terminal.remote import Passed


@dataclass(frozen=True, slots=True)
class Now:
    """The user's jobs, their verdicts and the cluster, of one minute. `fault` says why nothing newer is there."""

    jobs: JobPage
    verdicts: VerdictList
    cluster: ClusterStatus
    fault: str = ""

    def verdict_of(self, display_id: str) -> JobVerdict | None:
        return next((one for one in self.verdicts.verdicts if one.job.display_id == display_id), None)


@dataclass(frozen=True, slots=True)
class OneJob:
    """A job with its charts; `verdict` None = it has none."""

    answer: JobAnswer
    series: JobSeries
    verdict: JobVerdict | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class PastRow:
    """A row of a report as the API sends it. The fields are those of the report's own rows, as far as they are shown:
    loading those would load the engine of history."""

    key: str | None
    label: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hours(self) -> GpuHours:
        known = self.values.get
        return GpuHours(
            known("gpu_hours_allocated") or 0.0,
            known("gpu_hours_measured") or 0.0,
            known("gpu_hours_used"),
            known("gpu_hours_idle"),
            known("gpu_hours_idle_measured") or 0.0,
        )


@dataclass(frozen=True, slots=True)
class PastWait:
    """Waits of jobs that began in the range, by number of GPUs ("" = all)."""

    size: str
    jobs: int
    p50_seconds: float | None
    p90_seconds: float | None


@dataclass(frozen=True, slots=True)
class PastState:
    first: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PastReport:
    rows: tuple[PastRow, ...]
    total: PastRow
    waits: tuple[PastWait, ...] = ()
    state: PastState = PastState()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever collected, which is not the same as no job."""
        return self.state.first is None


@dataclass(frozen=True, slots=True)
class Advised:
    """A finding over finished jobs, in words."""

    name: str
    advice: str
    jobs: int
    gpu_hours: float
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Past:
    """The user's last 30 days by day. `fault` as in Now."""

    by_day: PastReport
    asked_at: datetime
    fault: str = ""


@dataclass(frozen=True, slots=True)
class LastJobs:
    """The jobs that were submitted last, the newest first, with what they used."""

    rows: tuple[PastRow, ...]
    is_empty: bool
    asked_at: datetime
    fault: str = ""


class Answers(Protocol):
    """Every function raises FullwarpError as the questions of the API do; CannotKnow where no history is kept."""

    user: str
    is_direct: bool

    def now(self) -> Now: ...

    def job(self, job_id: str) -> OneJob: ...

    def past(self) -> Past: ...

    def last_jobs(self) -> LastJobs: ...

    def advised(self) -> tuple[Advised, ...]:
        """What finished jobs of the last 30 days show, most GPU-hours first."""

    def pass_on(self, method: str, name: str, asked: Mapping[str, str], given: bytes | None) -> Passed:
        """What the assistant's route of this name answers; `given` is a JSON object."""
