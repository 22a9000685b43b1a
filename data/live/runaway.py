"""Jobs that only slurmdbd believes to run: slurmctld does not know them, so that nothing will ever end them. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from data.join import holds
from data.model import Job, Node

JobKey = tuple[str, int, object, object]
# A job that asks for one thread of each core is given the core: the node counts twice what the job says.
_THREADS_OF_A_CORE = 2


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


def hidden_by_slurmctld(found: Iterable[Job], nodes: Iterable[Node], live: Iterable[Job]) -> tuple[Job, ...]:
    """Those that may well run: slurmctld has given away CPUs of their nodes, and names no job that has them.

    So it is where PrivateData hides jobs from our account in slurmctld and not in slurmdbd.
    """
    told: dict[str, float] = {}
    for job in live:
        for node, cpus in _cpus(job) if holds(job) else ():
            told[node] = told.get(node, 0.0) + cpus
    untold = {node.name for node in nodes if (node.allocated_cpus or 0) > _THREADS_OF_A_CORE * told.get(node.name, 0.0)}
    return tuple(job for job in found if not untold.isdisjoint(job.nodes))


def _cpus(job: Job) -> Iterable[tuple[str, float]]:
    """CPUs of a job by node; evenly where Slurm does not say, and without end where it says nothing."""
    known = {part.node: part.cpus for part in job.devices if part.cpus is not None}
    each = math.inf if job.allocated.cpus is None else job.allocated.cpus / len(job.nodes)
    return ((node, known.get(node, each)) for node in job.nodes)
