"""Ask both sources at the same time, each within its limit, and keep what each said or how it failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from data.errors import SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.metrics.registry import SNAPSHOT_METRICS
from data.model import Association, Job, Node, Partition, Reading, Reservation, Rows, SourceHealth
from data.protocols import MetricsSource, SchedulerSource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What one question gave: a value or an error; neither = not asked."""

    value: T | None = None
    error: SourceError | None = None
    seconds: float = 0.0

    @property
    def was_asked(self) -> bool:
        return self.value is not None or self.error is not None


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of one refresh. The slow ones are asked every ten minutes only."""

    nodes: Answer[Rows[Node]]
    jobs: Answer[Rows[Job]]
    reading: Answer[Reading]
    partitions: Answer[Rows[Partition]] = Answer()
    reservations: Answer[Rows[Reservation]] = Answer()
    associations: Answer[Rows[Association]] = Answer()
    scheduler_health: Answer[SourceHealth] = Answer()
    metrics_health: Answer[SourceHealth] = Answer()
    accounted: Answer[Rows[Job]] = Answer()
    is_complete: bool = False


class Asking:
    """Questions under way: nodes, jobs and the latest values, and with `with_slow` what changes rarely."""

    def __init__(self, scheduler: SchedulerSource, metrics: MetricsSource, *, with_slow: bool) -> None:
        slow = (
            scheduler.partitions,
            scheduler.reservations,
            scheduler.associations,
            scheduler.health,
            scheduler.accounted_running,
        )
        self._begun = time.monotonic()
        main = (lambda: _readable(scheduler.nodes()), lambda: _readable(scheduler.jobs()))
        self._asked = _in_turn(main, slow if with_slow else ())
        latest = (lambda: metrics.latest(SNAPSHOT_METRICS),)
        self._measured = _in_turn(latest, (metrics.health,) if with_slow else ())
        self._with_slow = with_slow

    def answers(self, limits: tuple[float, float], slow_seconds: float | None = None) -> Asked:
        """Wait for the answers; `limits` (Slurm, metrics; seconds since the beginning) end in a time-out.

        With `slow_seconds` the rare answers are waited for only so long after the others, and are then still open.
        """
        ends = (self._begun + limits[0], self._begun + limits[1])
        nodes, jobs = (_wait(future, ends[0], "Slurm") for future in self._asked[:2])
        reading = _wait(self._measured[0], ends[1], "The metrics server")
        if not self._with_slow:
            return Asked(nodes, jobs, reading, is_complete=True)
        rare = (*self._asked[2:], *self._measured[1:])
        if slow_seconds is not None:
            futures.wait(rare, timeout=slow_seconds)
            if not all(future.done() for future in rare):
                return Asked(nodes, jobs, reading)
        partitions, reservations, associations, version, accounted, health = (
            _wait(f, max(ends), "Slurm") for f in rare
        )
        return Asked(nodes, jobs, reading, partitions, reservations, associations, version, health, accounted, True)


def _readable(rows: Rows[T]) -> Rows[T]:
    """Rows of which none could be read are a garbled answer, not an empty cluster."""
    if rows.broken and not rows.rows:
        raise SourceGarbled(f"none of its {rows.broken} rows could be read, such as {rows.broken_examples[:1]}")
    return rows


def _in_turn(calls: Sequence[Callable[[], Any]], slow: Sequence[Callable[[], Any]]) -> list[Future[Answer[Any]]]:
    """Make the calls one after another on a thread of their own; slow ones only while the source keeps answering."""
    promised: list[Future[Answer[Any]]] = [Future() for _ in (*calls, *slow)]

    def run() -> None:
        answering = True
        for number, call in enumerate((*calls, *slow)):
            if number >= len(calls) and not answering:
                promised[number].set_result(Answer())
                continue
            answer = ask(call)
            answering = answering and not isinstance(answer.error, SourceTimeout | SourceUnreachable)
            promised[number].set_result(answer)

    threading.Thread(target=run, name="ask-source", daemon=True).start()
    return promised


def ask(call: Callable[[], T]) -> Answer[T]:
    """Make one call and keep its value or its error; an error that is no SourceError is a garbled answer."""
    begun = time.perf_counter()
    try:
        return Answer(call(), None, time.perf_counter() - begun)
    except SourceError as err:
        return Answer(None, err, time.perf_counter() - begun)
    except Exception as err:  # whatever a half answer breaks, the product stays up and says so
        garbled = SourceGarbled(f"the answer could not be read ({type(err).__name__}: {err})")
        return Answer(None, garbled, time.perf_counter() - begun)


def _wait(future: Future[Answer[Any]], until: float, name: str) -> Answer[Any]:
    left = max(0.0, until - time.monotonic())
    try:
        return future.result(timeout=left)
    except futures.TimeoutError:
        hint = "Look at the load of the server, or raise its timeout_seconds."
        return Answer(None, SourceTimeout(f"{name} did not answer within its time limit", hint=hint), left)
