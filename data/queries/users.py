"""One user: what runs and waits now, what to change in it, and the last 30 days at a glance."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from data.common_window import common_window, title_of_window
from data.day_use import DayUse, Digest, digest_of
from data.ended_days import days_between, ended_on, is_settled
from data.errors import NotFound, SourceError, SourceUnreachable
from data.findings import Finding, JobFacts, find, partition_facts
from data.metrics.registry import METRICS
from data.model import ClusterSnapshot, Device, Job, JobFilter, Scope, SourceCondition, Viewer, WindowReading
from data.queries.jobs import JobRow, job_rows
from data.queries.live import snapshot
from data.report import build_report
from data.sources import Sources

PAST_DAYS = 30
_METRICS = tuple(name for name, metric in METRICS.items() if not metric.is_derived)


@dataclass(frozen=True, slots=True)
class JobFinding:
    """A finding about a running job, over the common window only."""

    job: Job
    finding: Finding


@dataclass(frozen=True, slots=True)
class UserNow:
    """`findings` are those of running GPU jobs over `window_seconds` up to now, most GPU-hours first; `judged` of
    `running` jobs were old enough to be looked at. `failed` = the metrics did not answer."""

    user: str
    snapshot: ClusterSnapshot
    running: tuple[JobRow, ...]
    pending: tuple[JobRow, ...]
    findings: tuple[JobFinding, ...] = ()
    judged: int = 0
    window_seconds: float | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class UserPast:
    """The last 30 days as far as they have been read: `read` of `days`. `by_day` is by the day's first moment, oldest
    first; `failed` names the days that could not be read."""

    since: datetime
    days: int
    read: int
    total: DayUse
    by_day: tuple[tuple[datetime, DayUse], ...]
    failed: tuple[datetime, ...] = ()

    @property
    def is_whole(self) -> bool:
        return self.read + len(self.failed) == self.days


def user_now(viewer: Viewer, sources: Sources, user: str, at: datetime | None = None) -> UserNow:
    """Answer with a user's jobs of now. Raises NotFound for a user of whom the viewer may see nothing, whether they
    exist or not, SourceUnreachable while Slurm is down and nothing of it is known."""
    whole = snapshot(viewer, sources, at=at)
    rows = job_rows(viewer, whole, JobFilter(users=frozenset({user})))
    if not rows and user != viewer.user and _is_slurm_down(whole):
        raise SourceUnreachable("Slurm does not answer, so no user is known", hint="Try again; see Health.")
    if not rows and user != viewer.user and not _may_know(viewer, sources, user):
        raise NotFound(f"There is no user {user[:60]}, or you may not see their jobs", hint="Check the name.")
    running = tuple(row for row in rows if row.job.state != "PENDING")
    pending = tuple(row for row in rows if row.job.state == "PENDING")
    now = UserNow(user, whole, running, pending)
    return _with_findings(sources, now, at)


def _is_slurm_down(whole: ClusterSnapshot) -> bool:
    return any(one.name == "slurm" and one.condition is SourceCondition.DOWN for one in whole.sources)


def _may_know(viewer: Viewer, sources: Sources, user: str) -> bool:
    """Whether Slurm's account tree knows the user under an account whose jobs the viewer may see."""
    return any(row.user == user and viewer.may_see(user, row.account) for row in sources.associations())


def user_past(
    viewer: Viewer, sources: Sources, user: str, now: datetime, *, budget_seconds: float = 2.0, days: int = PAST_DAYS
) -> UserPast:
    """Answer with the attempts of a user that ended in the last days, by what Slurm itself keeps of them.

    Reads whole days of everybody, newest first, until `budget_seconds` (of wall time) are over; each is kept for six
    hours, so that the next call goes on where this one stopped. Counts only jobs that the viewer may see.
    """
    since = now - timedelta(days=days)
    spans = days_between(since, now)
    began = time.monotonic()
    read: list[tuple[datetime, Digest]] = []
    failed: list[datetime] = []
    for day in spans:
        if time.monotonic() - began > budget_seconds and read:
            break
        try:
            read.append((day, _digest(sources, day, now)))
        except SourceError:
            failed.append(day)
            if len(failed) > 2:
                failed += [other for other in spans if other not in failed and other < day]
                break
    by_day = tuple((day, _use_of(viewer, user, digest)) for day, digest in reversed(read))
    total = sum((use for _, use in by_day), DayUse())
    return UserPast(since, len(spans), len(read), total, by_day, tuple(failed))


def _digest(sources: Sources, day: datetime, now: datetime) -> Digest:
    def make() -> Digest:
        rows = ended_on(sources.scheduler, sources.days, sources.recent, day, now).rows
        return digest_of(sources.settings, rows)

    kept = sources.digests if is_settled(day, now) else sources.recent
    return kept.get(("digest", day), make)


def _use_of(viewer: Viewer, user: str, digest: Digest) -> DayUse:
    accounts = digest.get(user, {})
    return sum((use for account, use in accounts.items() if viewer.may_see(user, account)), DayUse())


def _with_findings(sources: Sources, now: UserNow, at: datetime | None) -> UserNow:
    """One window for all: as long as the youngest of the jobs that ran an hour, at most four."""
    moment = now.snapshot.time
    jobs = [row.job for row in now.running if row.gpus and row.job.is_running and not row.job.suspended_seconds]
    window = common_window(jobs, moment)
    if window is None:
        return now
    judged = [job for job in jobs if job.start_time is not None and job.start_time <= window.start]
    labels = frozenset(name for job in judged for name in job.labels)
    scope = Scope(labels, frozenset(node for job in judged for node in job.nodes))
    key = ("user findings", tuple(job.key for job in judged), window)
    try:
        reading = sources.recent.get(key, lambda: sources.metrics.window(_METRICS, window, scope))
    except SourceError:
        return replace(now, judged=0, failed=True)
    places = sources.live.picture().inventory.places.items() if at is None else ()
    inventory = {place: known.device for place, known in places}
    found = [one for job in judged for one in _findings(sources, now.snapshot, job, reading, inventory)]
    found.sort(key=lambda one: -(one.finding.gpu_hours or 0.0))
    return replace(now, findings=tuple(found), judged=len(judged), window_seconds=window.seconds)


def _findings(
    sources: Sources,
    whole: ClusterSnapshot,
    job: Job,
    reading: WindowReading,
    inventory: dict[tuple[str, int], Device],
) -> list[JobFinding]:
    """Findings of the window alone: the job as if it had begun with it."""
    settings = sources.settings
    report = build_report(
        replace(job, start_time=reading.window.start, suspended_seconds=0.0),
        reading,
        now=reading.window.end,
        limits=settings.judgement,
        findings=settings.findings,
        inventory=inventory,
    )
    facts = JobFacts(report, settings.findings, settings.judgement, partition_facts(job, whole.nodes, whole.partitions))
    return [JobFinding(job, replace(one, title=title_of_window(one.title))) for one in find(facts)]
