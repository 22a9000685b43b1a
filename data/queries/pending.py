"""Waiting jobs: why, since when, and which free GPUs would fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from data.errors import NotFound, SourceError
from data.fitting import Fit, fits
from data.model import Job, PendingDetail, SourceState, Viewer
from data.pending_reasons import reason_words, will_never_start
from data.queries.live import snapshot
from data.queries.scope import may_see
from data.slurm.attempts import named_by
from data.slurm.job_ids import job_id as parse_job_id
from data.sources import Sources


@dataclass(frozen=True, slots=True)
class Waiting:
    """One waiting job. `why` is Slurm's reason in words; `never` = it does not pass by itself.

    `fit` are nodes with enough free GPUs, cores and memory for it now; `free_gpus` is their sum. None of it promises
    a start: jobs of higher priority may be meant to have them.
    """

    job: Job
    why: str
    never: bool
    wait_seconds: float | None
    expected_start_time: datetime | None = None
    priority: float | None = None
    priority_parts: tuple[tuple[str, float], ...] = ()
    fit: tuple[Fit, ...] = ()
    free_gpus: int = 0


@dataclass(frozen=True, slots=True)
class Queued:
    """Waiting jobs by priority. `details_known` False = Slurm did not give priorities and expected starts."""

    time: datetime
    rows: tuple[Waiting, ...]
    details_known: bool = True
    sources: tuple[SourceState, ...] = ()
    unknown: tuple[str, ...] = ()


def pending(viewer: Viewer, sources: Sources, at: datetime | None = None) -> Queued:
    """Answer with the waiting jobs that the viewer may see, those of highest priority first."""
    whole = snapshot(viewer, sources, at=at)
    details = {} if at is not None else _details(sources)
    found = fits(whole)
    rows = [
        _waiting(job, whole.time, details or {}, found.of(job))
        for job in whole.jobs
        if job.state == "PENDING" and job.job_id and may_see(viewer, job)
    ]
    rows.sort(key=lambda row: (-(row.priority or 0.0), row.job.job_id))
    return Queued(whole.time, tuple(rows), bool(details) or not rows, whole.sources, whole.unknown)


def waiting(viewer: Viewer, sources: Sources, job_id: str, at: datetime | None = None) -> Waiting:
    """Answer why one job, or the array that still holds this task, waits.

    Raises NotFound when no waiting job of that id may be seen, BadRequest for what is no id.
    """
    wanted, text = parse_job_id(job_id), job_id.strip()
    found = [row for row in pending(viewer, sources, at).rows if named_by(row.job, wanted)]
    if not found:
        raise NotFound(f"There is no waiting job {text}, or you may not see it", hint="It may have started or ended.")
    return next((row for row in found if row.job.display_id == text), found[0])


def _details(sources: Sources) -> Mapping[int, PendingDetail] | None:
    """Priorities and expected starts of all waiting jobs, asked once for all viewers; None when they do not come."""
    try:
        rows = sources.recent.get("pending_details", sources.scheduler.pending_details).rows
    except SourceError:
        return None
    return {row.job_id: row for row in rows}


def _waiting(job: Job, now: datetime, details: Mapping[int, PendingDetail], fit: tuple[Fit, ...]) -> Waiting:
    detail = details.get(job.job_id) or PendingDetail(job.job_id, job.display_id)
    since = job.eligible_time or job.submit_time
    seconds = None if since is None else (now - since).total_seconds()
    return Waiting(
        job=job,
        why=reason_words(job.reason),
        never=will_never_start(job.reason),
        wait_seconds=seconds if seconds is not None and seconds >= 0 else None,
        expected_start_time=detail.expected_start_time or job.expected_start_time,
        priority=detail.priority if detail.priority is not None else job.priority,
        priority_parts=detail.priority_parts,
        fit=fit[:20],
        free_gpus=sum(one.free_gpus for one in fit),
    )
