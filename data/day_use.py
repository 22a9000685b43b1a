"""What people used on one day, by user and account: from what Slurm itself keeps of jobs that ended on it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from data.efficiency import NO_HOURS, GpuHours
from data.model import Job
from data.report import build_report
from settings import Settings


@dataclass(frozen=True, slots=True)
class DayUse:
    """Attempts that ended: how many, with a GPU, without a known number of GPUs, by state, and where their GPU-hours
    went (all hours of the attempt, counted on the day of its end)."""

    jobs: int = 0
    gpu_jobs: int = 0
    unknown_gpus: int = 0
    hours: GpuHours = NO_HOURS
    states: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: DayUse) -> DayUse:
        return DayUse(
            self.jobs + other.jobs,
            self.gpu_jobs + other.gpu_jobs,
            self.unknown_gpus + other.unknown_gpus,
            self.hours + other.hours,
            dict(Counter(self.states) + Counter(other.states)),
        )


Digest = Mapping[str, Mapping[str | None, DayUse]]


def digest_of(settings: Settings, jobs: Iterable[Job]) -> Digest:
    """Use by user, then by account (None = not known)."""
    found: dict[str, dict[str | None, DayUse]] = {}
    for job in jobs:
        mine = found.setdefault(job.user or "", {})
        mine[job.account] = mine.get(job.account, DayUse()) + _use(settings, job)
    return found


def _use(settings: Settings, job: Job) -> DayUse:
    states = {job.state: 1}
    if job.start_time is None or job.end_time is None:
        return DayUse(1, states=states)
    report = build_report(job, now=job.end_time, limits=settings.judgement, findings=settings.findings)
    if report.gpu_count is None:
        return DayUse(1, unknown_gpus=1, states=states)
    hours = report.hours or GpuHours(report.device_hours or 0.0)
    return DayUse(1, int(report.gpu_count > 0), 0, hours, states)
