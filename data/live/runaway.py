"""Jobs that only slurmdbd believes to run: slurmctld does not know them, so that nothing will ever end them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from data.model import Job

JobKey = tuple[str, int, object, object]


def unknown_to_slurmctld(accounted: Iterable[Job], live: Iterable[Job]) -> tuple[Job, ...]:
    """Rows without an end whose job is not among the live ones, the oldest first.

    `live` must have been asked before `accounted`: a job that starts or ends in between is then never taken for one.
    """
    known = {job.job_id for job in live}
    found = {job.key: job for job in accounted if job.job_id not in known and job.end_time is None and job.start_time}
    return tuple(sorted(found.values(), key=lambda job: (job.start_time, job.job_id)))


def confirmed(found: Iterable[Job], suspected: Collection[JobKey]) -> tuple[Job, ...]:
    """Those that were so at the last asking too: slurmdbd hears of an end a moment later than slurmctld."""
    before = frozenset(suspected)
    return tuple(job for job in found if job.key in before)
