"""The next picture from the last one and fresh answers: a part that failed keeps its last good value. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

from data.collection import without_collection
from data.errors import CannotKnow, SourceDenied
from data.inventory import Inventory
from data.join import SignalLimits, join
from data.live.asking import Answer, Asked
from data.live.condition import metrics_state, scheduler_state
from data.live.runaway import JobKey, confirmed, hidden_by_slurmctld, unknown_to_slurmctld
from data.model import Association, ClusterSnapshot, Job, Node, Note, Reading, Rows, SourceState

T = TypeVar("T")
VALUES_LAST = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Picture:
    """The snapshot and what the next one needs: the last good reading, the inventory, what was asked rarely, and which
    jobs slurmctld did not know when accounting was asked last."""

    snapshot: ClusterSnapshot
    reading: Reading | None = None
    inventory: Inventory = field(default_factory=Inventory)
    associations: tuple[Association, ...] = ()
    slow_tried: datetime | None = None
    slow_failed: bool = False
    nodes_time: datetime | None = None
    jobs_time: datetime | None = None
    suspected: tuple[JobKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """What settings say of the sources: names for people and limits for the join."""

    cluster: str = ""
    scheduler_kind: str = ""
    metrics_kind: str = ""
    scheduler_address: str | None = None
    metrics_address: str | None = None
    limits: SignalLimits = field(default_factory=SignalLimits)
    refresh_seconds: float = 30.0


def next_picture(
    last: Picture | None, asked: Asked, origin: Origin, now: datetime, fault: str | None = None
) -> Picture:
    """Join the newest good parts; `now` is when asking began, `fault` what the cache complains of."""
    old = last or Picture(ClusterSnapshot(origin.cluster, now, now))
    nodes, jobs = _rows(asked.nodes, old.snapshot.nodes), _rows(asked.jobs, old.snapshot.jobs)
    reading = asked.reading.value or old.reading
    shown = asked.reading.value or _not_too_old(old.reading, now)
    nodes_time = now if asked.nodes.value is not None else old.nodes_time
    jobs_time = now if asked.jobs.value is not None else old.jobs_time
    with without_collection():
        joined = join(nodes, jobs, shown, old.inventory, now, origin.limits)
    sources = (
        scheduler_state(_source(old, "slurm"), asked, origin, now, nodes_time, jobs_time),
        metrics_state(_source(old, "metrics"), asked, origin, now, reading),
    )
    snapshot = ClusterSnapshot(
        cluster=origin.cluster or _cluster_of(nodes, jobs),
        time=now,
        made_at=now,
        nodes=nodes,
        gpus=joined.gpus,
        jobs=jobs,
        partitions=_rows(asked.partitions, old.snapshot.partitions),
        reservations=_rows(asked.reservations, old.snapshot.reservations),
        sources=sources,
        slurm_time=_oldest(nodes_time, jobs_time),
        metrics_time=None if reading is None else reading.sample_time or reading.at,
        unknown=_unknown(nodes_time, jobs_time, reading, shown, origin),
        version=f"{now:%Y%m%dT%H%M%S}-{uuid4().hex[:12]}",
        notes=_notes(joined.notes, jobs_time)
        + ((Note("cache_fails", "", f"Processes do not share: {fault}."),) if fault else ()),
    )
    return _with_slow(
        old, asked, now, Picture(snapshot, reading, joined.inventory, (), None, False, nodes_time, jobs_time)
    )


def _with_slow(old: Picture, asked: Asked, now: datetime, picture: Picture) -> Picture:
    health = (asked.scheduler_health, asked.metrics_health)
    rare = (asked.partitions, asked.reservations, asked.associations, asked.accounted, *health)
    tried = any(answer.was_asked for answer in rare)
    return replace(
        _with_runaway(old, asked, picture),
        associations=_rows(asked.associations, old.associations),
        slow_tried=now if tried else old.slow_tried,
        slow_failed=any(_may_heal(answer) for answer in rare) if tried else old.slow_failed,
    )


def _with_runaway(old: Picture, asked: Asked, picture: Picture) -> Picture:
    """Jobs that slurmctld did not know twice in a row, without those that it may merely hide from us; between two
    askings those of the last one."""
    if asked.accounted.value is None or asked.jobs.value is None:
        snapshot = replace(picture.snapshot, runaway=old.snapshot.runaway)
        return replace(picture, snapshot=snapshot, suspected=old.suspected)
    jobs = asked.jobs.value.rows
    unknown = unknown_to_slurmctld(asked.accounted.value.rows, jobs)
    hidden = hidden_by_slurmctld(unknown, picture.snapshot.nodes, jobs)
    found = [job for job in unknown if job not in hidden]
    snapshot = replace(picture.snapshot, runaway=confirmed(found, old.suspected))
    return replace(picture, snapshot=snapshot, suspected=tuple(job.key for job in found))


def _may_heal(answer: Answer[Any]) -> bool:
    """Whether it is worth asking again soon: not what the source never tells, or never tells us."""
    return answer.value is None and not isinstance(answer.error, CannotKnow | SourceDenied)


def _rows(answer: Answer[Rows[T]], old: tuple[T, ...]) -> tuple[T, ...]:
    return old if answer.value is None else answer.value.rows


def _source(picture: Picture, name: str) -> SourceState | None:
    return next((source for source in picture.snapshot.sources if source.name == name), None)


def _cluster_of(nodes: tuple[Node, ...], jobs: tuple[Job, ...]) -> str:
    names = [node.cluster for node in nodes[:1]] + [job.cluster for job in jobs[:1]]
    return next((name for name in names if name), "")


def _oldest(first: datetime | None, second: datetime | None) -> datetime | None:
    return None if first is None or second is None else min(first, second)


def _notes(notes: tuple[Note, ...], jobs: datetime | None) -> tuple[Note, ...]:
    """While no job is known, every job label looks stale."""
    return tuple(note for note in notes if jobs is not None or note.kind != "stale_label")


def _not_too_old(reading: Reading | None, now: datetime) -> Reading | None:
    """Values of a quarter of an hour ago say nothing of now: who was idle then may be at work."""
    sampled = None if reading is None else reading.sample_time or reading.at
    return None if sampled is None or now - sampled > VALUES_LAST else reading


def _unknown(
    nodes: datetime | None, jobs: datetime | None, reading: Reading | None, shown: Reading | None, origin: Origin
) -> tuple[str, ...]:
    said = []
    if nodes is None:
        said.append("Nodes and GPUs are not known: Slurm has not answered yet.")
    if jobs is None:
        said.append("Jobs are not known: Slurm has not answered yet.")
    if origin.metrics_kind == "none":
        said.append("Nothing is measured: no metrics server is set.")
    elif reading is None:
        said.append("Nothing is measured: the metrics server has not answered yet.")
    elif shown is None:
        said.append("Nothing is measured: the last values are older than 15 min.")
    return tuple(said)
