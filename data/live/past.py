"""The picture of a past moment, from what the sources can still answer. Today's state never stands for the past."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from data.errors import BadRequest, CannotKnow
from data.join import holds, join
from data.live.asking import Answer, ask
from data.live.recorded import Recorded, Recorder, is_placed, nothing_recorded, with_recorded
from data.metrics.registry import SNAPSHOT_METRICS
from data.model import (
    ClusterSnapshot,
    GpuPool,
    Job,
    Node,
    NodeState,
    Reading,
    Rows,
    SourceCondition,
    SourceState,
)
from data.protocols import MetricsSource, SchedulerSource

if TYPE_CHECKING:
    from data.live.picture import Origin, Picture

T = TypeVar("T")
_KEPT = 8
_UNKNOWN_STATE = NodeState("UNKNOWN", (), "UNKNOWN", "unknown", False)


class PastPictures:
    """Makes pictures of past moments and keeps the last few; each is made once, however many ask."""

    def __init__(
        self,
        scheduler: SchedulerSource,
        metrics: MetricsSource,
        present: Callable[[], Picture],
        clock: Callable[[], datetime],
        origin: Origin,
        recorder: Recorder = nothing_recorded,
    ) -> None:
        self._scheduler, self._metrics, self._present = scheduler, metrics, present
        self._clock, self._origin, self._recorder = clock, origin, recorder
        self._made: OrderedDict[datetime, Future[ClusterSnapshot]] = OrderedDict()
        self._guard = threading.Lock()

    def at(self, moment: datetime) -> ClusterSnapshot:
        """Give the picture of `moment` (whole seconds); BadRequest when it is naive or in the future."""
        if moment.tzinfo is None:
            raise BadRequest(f"{moment} has no time zone", hint="Write it like 2026-03-10T12:00:00Z.")
        moment = moment.astimezone(UTC).replace(microsecond=0)
        if moment > self._clock():
            raise BadRequest(f"{moment.isoformat()} is in the future", hint="Choose a past moment.")
        with self._guard:
            promised = self._made.get(moment)
            is_mine = promised is None
            if promised is None:
                promised = self._made[moment] = Future()
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            self._made.move_to_end(moment)
        if is_mine:
            self._make(moment, promised)
        try:
            return promised.result()
        finally:
            del promised  # an error holds this frame, which must not hold the error

    def _make(self, moment: datetime, promised: Future[ClusterSnapshot]) -> None:
        """Keep only pictures in which every source answered; the next one asks again otherwise."""
        keep = False
        try:
            snapshot = self._picture(moment)
            keep = all(source.condition is SourceCondition.OK for source in snapshot.sources)
            promised.set_result(snapshot)
        except BaseException as err:
            promised.set_exception(err)
        finally:
            if not keep:
                with self._guard:
                    if self._made.get(moment) is promised:
                        del self._made[moment]
            del promised

    def _picture(self, moment: datetime) -> ClusterSnapshot:
        present = self._present()
        unknown: list[str] = []
        recorded = self._recorded(moment, present.snapshot.cluster)
        nodes = self._nodes(moment, present.snapshot, recorded, unknown)
        jobs = self._jobs(moment, present.snapshot, recorded, unknown)
        reading = ask(lambda: self._metrics.latest(SNAPSHOT_METRICS, moment))
        if reading.error is not None:
            unknown.append(f"Nothing is known of what was measured then: {_why(reading)}")
        joined = join(_value(nodes), _value(jobs), reading.value, present.inventory, moment, self._origin.limits)
        made_at = self._clock()
        return ClusterSnapshot(
            cluster=present.snapshot.cluster,
            time=moment,
            made_at=made_at,
            nodes=_value(nodes),
            gpus=joined.gpus,
            jobs=_value(jobs),
            partitions=present.snapshot.partitions,
            sources=(
                _source("slurm", self._origin.scheduler_kind, (nodes, jobs), made_at),
                _source("metrics", self._origin.metrics_kind, (reading,), made_at),
            ),
            slurm_time=moment,
            metrics_time=_sampled(reading.value),
            is_past=True,
            unknown=tuple(unknown),
            version=f"at-{moment:%Y%m%dT%H%M%S}-{made_at:%Y%m%dT%H%M%S.%f}",
            notes=joined.notes,
            runaway=tuple(job for job in present.snapshot.runaway if job.start_time and job.start_time <= moment),
        )

    def _recorded(self, moment: datetime, cluster: str) -> Recorded:
        """What the history holds of the moment; nothing where it cannot be read, which Health says."""
        try:
            return self._recorder(moment, cluster)
        except Exception:
            logging.getLogger(__name__).exception("the history could not be read")
            return Recorded()

    def _nodes(
        self, moment: datetime, present: ClusterSnapshot, recorded: Recorded, unknown: list[str]
    ) -> Answer[Rows[Node]]:
        answer = ask(lambda: self._scheduler.nodes(moment))
        if isinstance(answer.error, CannotKnow) and recorded.nodes and recorded.time is not None:
            unknown.append(f"Node states and reasons are those recorded at {recorded.time:%Y-%m-%d %H:%M:%S} UTC.")
            return Answer(Rows(recorded.nodes))
        if isinstance(answer.error, CannotKnow):
            unknown.append("Node states and reasons of then are not known; nodes and their GPUs are those of today.")
            return Answer(Rows(tuple(_forgotten(node) for node in present.nodes)))
        if answer.error is not None:
            unknown.append(f"Nodes of then are not known: {_why(answer)}")
        return answer

    def _jobs(
        self, moment: datetime, present: ClusterSnapshot, recorded: Recorded, unknown: list[str]
    ) -> Answer[Rows[Job]]:
        answer = ask(lambda: self._scheduler.jobs(moment))
        if not isinstance(answer.error, CannotKnow):
            if answer.error is not None:
                unknown.append(f"Jobs of then are not known: {_why(answer)}")
            return answer
        ended = ask(lambda: self._scheduler.finished_jobs(moment, moment + timedelta(seconds=1)))
        if ended.error is not None:
            unknown.append(f"Jobs of then are not known: {_why(ended)}")
            return ended
        found = with_recorded(moment, _running_then(moment, present.jobs, _value(ended)), recorded)
        unknown += _unrecorded(found, recorded)
        return Answer(Rows(found))


def _running_then(moment: datetime, present: tuple[Job, ...], ended: tuple[Job, ...]) -> tuple[Job, ...]:
    """Jobs that ran at `moment`: those that run still, and those that accounting says ended later; each once.

    A row of accounting without an end, of a job that slurmctld does not know, is a runaway: it does not count here, the
    snapshot names it.
    """
    found: dict[tuple[int, datetime | None], Job] = {}
    known = [job for job in ended if job.end_time is not None and job.end_time > moment]
    for job in (*known, *(job for job in present if holds(job))):
        if job.nodes and job.start_time is not None and job.start_time <= moment:
            found[(job.job_id, job.start_time)] = _as_running(job)
    return tuple(found.values())


def _unrecorded(jobs: tuple[Job, ...], recorded: Recorded) -> Iterator[str]:
    """What is not known of these jobs."""
    if recorded.time is None or recorded.jobs is None:
        yield "Jobs that waited or were suspended then are not known."
    else:
        yield f"Jobs that waited or were suspended are those recorded at {recorded.time:%Y-%m-%d %H:%M:%S} UTC."
    lost = sum(1 for job in jobs if holds(job) and not is_placed(job))
    if lost:
        yield f"Which GPUs {lost} of the jobs held was not recorded."


def _as_running(job: Job) -> Job:
    """The job as it was while it ran: nothing that became known of it later."""
    return replace(
        job,
        state="RUNNING",
        state_flags=(),
        end_time=None,
        elapsed_seconds=None,
        exit_code=None,
        cancelled_by=None,
        suspend_time=None,
        reason=None,
        admin_comment=None,
    )


def _forgotten(node: Node) -> Node:
    """The node's configuration without anything that changes from minute to minute."""
    return Node(
        cluster=node.cluster,
        name=node.name,
        state=_UNKNOWN_STATE,
        partitions=node.partitions,
        features=node.features,
        cpus=node.cpus,
        memory_bytes=node.memory_bytes,
        gres=node.gres,
        gpu_pools=tuple(GpuPool(pool.type, pool.total, None) for pool in node.gpu_pools),
    )


def _value(answer: Answer[Rows[T]]) -> tuple[T, ...]:
    return () if answer.value is None else answer.value.rows


def _sampled(reading: Reading | None) -> datetime | None:
    return None if reading is None else reading.sample_time or reading.at


def _why(answer: Answer[Any]) -> str:
    """For everyone's eyes: the kind of failure, no addresses."""
    return f"{'it cannot be asked for' if isinstance(answer.error, CannotKnow) else 'the source did not answer'}."


def _source(name: str, kind: str, answers: tuple[Answer[Any], ...], now: datetime) -> SourceState:
    failed = [answer.error for answer in answers if answer.error is not None]
    if not failed:
        return SourceState(name, kind, SourceCondition.OK, last_success=now)
    hint = failed[0].hint or None
    return SourceState(name, kind, SourceCondition.DOWN, failing_since=now, error=str(failed[0]), hint=hint)
