"""What the server says of itself, for Prometheus: counts and seconds, without the name of any person, job or node.

Where several workers run, each writes into files of a folder that they share (PROMETHEUS_MULTIPROC_DIR, set before this
module is imported), and whichever is asked adds them up.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from data.live.picture import Picture
from data.model import SourceCondition

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)
_REFRESH = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0)
_PUBLISH_SECONDS = 1.0
disable_created_metrics()  # type: ignore[no-untyped-call]  # they double the series, and several workers have none
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class OneAnswer(Protocol):
    """What is counted of an answered request."""

    @property
    def route(self) -> str: ...

    @property
    def status(self) -> int: ...

    @property
    def seconds(self) -> float: ...


class SelfMetrics:
    """The counts of one app; safe to share among threads. Names end with their unit."""

    def __init__(self, version: str, requests: Callable[[], Mapping[str, int]]) -> None:
        """`requests` gives what this process sent to each source so far."""
        self._own = own = CollectorRegistry()
        self._version, self._sent = version, requests
        self._guard = threading.Lock()
        self._published: dict[str, int] = {}
        self._next_publish = 0.0
        self._requests = Counter(
            "fullwarp_http_requests", "Answered requests by class of address.", ("route", "status"), registry=own
        )
        self._seconds = Histogram(
            "fullwarp_http_request_seconds", "Time to an answer.", ("route",), registry=own, buckets=_SECONDS
        )
        self._streams = Gauge("fullwarp_streams_open", "Streams under way.", registry=own, multiprocess_mode="livesum")
        self._refreshes = Histogram(
            "fullwarp_refresh_seconds", "Time of a refresh of the live picture.", registry=own, buckets=_REFRESH
        )
        self._failed = Counter("fullwarp_refresh_failures", "Refreshes that made no picture.", registry=own)
        self._asked = Counter(
            "fullwarp_source_requests", "What went over the wire to a source, retries too.", ("source",), registry=own
        )
        self._answers = Counter(
            "fullwarp_answers", "Finished answers that were kept (hit) or made (miss).", ("outcome",), registry=own
        )
        self._memory = Gauge(
            "fullwarp_worker_resident_bytes",
            "Memory of a worker.",
            ("worker",),
            registry=own,
            multiprocess_mode="livesum",
        )

    def answered(self, one: OneAnswer) -> None:
        self._requests.labels(one.route, str(one.status)).inc()
        self._seconds.labels(one.route).observe(one.seconds)
        self._publish()

    def stream(self, change: int) -> None:
        self._streams.inc(change)

    def refreshed(self, seconds: float, made: bool) -> None:
        self._refreshes.observe(seconds)
        if not made:
            self._failed.inc()
        self._publish(at_once=True)

    def looked_up(self, was_kept: bool) -> None:
        self._answers.labels("hit" if was_kept else "miss").inc()

    def _publish(self, *, at_once: bool = False) -> None:
        """Write down what this worker asked of each source so far, and its memory; at most once a second."""
        with self._guard:
            if not at_once and time.monotonic() < self._next_publish:
                return
            self._next_publish = time.monotonic() + _PUBLISH_SECONDS
            for source, total in self._sent().items():
                self._asked.labels(source).inc(max(0, total - self._published.get(source, 0)))
                self._published[source] = total
            if (resident := resident_bytes()) is not None:
                self._memory.labels(str(os.getpid())).set(resident)

    def text(self, picture: Picture | None, at: datetime) -> bytes:
        """All of it in Prometheus' text form; `picture` is the newest that is there."""
        self._publish(at_once=True)
        asked = CollectorRegistry()
        asked.register(_Now(picture, at, self._version))
        if os.environ.get(FOLDER):
            MultiProcessCollector(asked)  # type: ignore[no-untyped-call]
            return generate_latest(asked)
        return generate_latest(asked) + generate_latest(self._own)


def resident_bytes() -> int | None:
    """The resident memory of this process; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except OSError:
        return None


class _Now:
    """What is read off the picture at the moment of asking: the same in every worker."""

    def __init__(self, picture: Picture | None, at: datetime, version: str) -> None:
        self._picture, self._at, self._version = picture, at, version

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("fullwarp_build", "The version that runs.", {"version": self._version})
        if self._picture is None:
            return
        snapshot = self._picture.snapshot
        yield _gauge("fullwarp_snapshot_age_seconds", "Age of the live picture.", self._age(snapshot.made_at))
        up: Any = GaugeMetricFamily(
            "fullwarp_source_up", "Whether a source answered the last time.", labels=("source",)
        )
        state: Any = GaugeMetricFamily(
            "fullwarp_source_condition", "1 for the condition that a source is in.", labels=("source", "condition")
        )
        age: Any = GaugeMetricFamily(
            "fullwarp_source_age_seconds", "Time since a source last answered.", labels=("source",)
        )
        for source in snapshot.sources:
            up.add_metric((source.name,), source.condition is SourceCondition.OK)
            for one in SourceCondition:
                state.add_metric((source.name, one.value), source.condition is one)
            if source.last_success is not None:
                age.add_metric((source.name,), self._age(source.last_success))
        yield from (up, state, age)

    def _age(self, moment: datetime) -> float:
        return max(0.0, (self._at - moment).total_seconds())


def _gauge(name: str, help: str, value: float) -> Metric:
    found: Any = GaugeMetricFamily(name, help)
    found.add_metric((), value)
    return found  # type: ignore[no-any-return]
