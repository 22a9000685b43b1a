"""Which jobs a filter lets through, and what it can be set to. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from data.model import Job, JobFilter


def fits_filter(job: Job, wanted: JobFilter) -> bool:
    """Whether the filter lets the job through."""
    return (
        (not wanted.states or job.state in wanted.states)
        and (not wanted.users or job.user in wanted.users)
        and (not wanted.accounts or job.account in wanted.accounts)
        and (not wanted.partitions or not wanted.partitions.isdisjoint(job.partition.split(",")))
        and _has_text(job, wanted.text.strip().lower())
    )


def job_options(jobs: Iterable[Job]) -> dict[str, tuple[str, ...]]:
    """The states, users, accounts and partitions of these jobs, sorted."""
    found: dict[str, set[str]] = {"state": set(), "user": set(), "account": set(), "partition": set()}
    for job in jobs:
        found["state"].add(job.state)
        found["user"].add(job.user or "")
        found["account"].add(job.account or "")
        found["partition"].update(job.partition.split(","))
    return {key: tuple(sorted(values - {""})) for key, values in found.items()}


def _has_text(job: Job, text: str) -> bool:
    fields = (job.display_id, str(job.job_id), job.name, job.user or "", job.account or "")
    return not text or any(text in field.lower() for field in fields)
