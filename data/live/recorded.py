"""What was recorded of a past moment, for pictures of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from data.join import holds
from data.model import Job, Node, NodeDevices

Attempt = tuple[int, datetime | None]
"""Raw job id and start."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The last record at or shortly before a moment, made at `time` (None = there is none near it).

    `nodes` and `jobs` are those of `time`, None where Slurm did not tell; `held` which devices an attempt held at
    the moment itself, as far as it was recorded.
    """

    time: datetime | None = None
    nodes: tuple[Node, ...] | None = None
    jobs: tuple[Job, ...] | None = None
    held: Mapping[Attempt, tuple[NodeDevices, ...]] = field(default_factory=dict)


Recorder = Callable[[datetime, str], Recorded]
"""Moment and cluster to what was recorded."""


def nothing_recorded(moment: datetime, cluster: str) -> Recorded:
    return Recorded()


def with_recorded(moment: datetime, ran: Iterable[Job], recorded: Recorded) -> tuple[Job, ...]:
    """Jobs that ran at `moment`, with the devices that they held then, and those that waited or were suspended when
    the record was made and did not run at the moment."""
    known = {(job.job_id, job.start_time): job for job in recorded.jobs or ()}
    running = [_as_recorded(job, known.get((job.job_id, job.start_time)), recorded) for job in ran]
    ids = {job.job_id for job in running}
    waited = [
        job
        for job in recorded.jobs or ()
        if job.job_id not in ids and not holds(job) and (job.submit_time is None or job.submit_time <= moment)
    ]
    return (*running, *waited)


def is_placed(job: Job) -> bool:
    """Whether it is known which GPUs the job holds; so it is for one without any."""
    if job.allocated.gpus == 0:
        return True
    return bool(job.devices) and all(part.gpu_indices is not None for part in job.devices)


def with_devices(job: Job, held: tuple[NodeDevices, ...]) -> Job:
    """The job with the devices that were recorded of it, where Slurm itself no longer knows them."""
    if not held or is_placed(job):
        return job
    known = {part.node: part for part in held}
    parts = [
        replace(known[part.node], cpus=part.cpus, memory_bytes=part.memory_bytes, shards=part.shards)
        if part.node in known
        else part
        for part in job.devices
    ]
    more = [part for node, part in known.items() if all(one.node != node for one in parts)]
    return replace(job, devices=(*parts, *more))


def _as_recorded(job: Job, then: Job | None, recorded: Recorded) -> Job:
    job = with_devices(job, recorded.held.get((job.job_id, job.start_time), ()))
    if then is None or then.state != "SUSPENDED":
        return job
    return replace(job, state="SUSPENDED", suspend_time=then.suspend_time, suspended_seconds=then.suspended_seconds)
