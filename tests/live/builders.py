"""Small clusters for the tests of the join, the live picture and the queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from data.inventory import Inventory
from data.join import Joined, join
from data.model import (
    Association,
    Device,
    DeviceReading,
    GpuPool,
    Job,
    Node,
    NodeDevices,
    NodeState,
    Partition,
    PendingDetail,
    Reading,
    Reservation,
    Rows,
    Scope,
    Series,
    SourceHealth,
    SumAsk,
    SumsReading,
    Tres,
    Window,
    WindowReading,
    WindowSum,
)

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)

STATES = {
    "IDLE": NodeState("IDLE", (), "IDLE", "idle", True),
    "MIXED": NodeState("MIXED", (), "MIXED", "mixed", True),
    "ALLOCATED": NodeState("ALLOCATED", (), "ALLOCATED", "allocated", True),
    "DRAINED": NodeState("IDLE", ("DRAIN",), "DRAINED", "drained", False),
    "DRAINING": NodeState("ALLOCATED", ("DRAIN",), "DRAINING", "draining", False),
    "DOWN": NodeState("DOWN", (), "DOWN", "down", False),
    "MAINT": NodeState("IDLE", ("MAINTENANCE", "RESERVED"), "MAINT", "maint", False),
}


def make_node(
    name: str = "gpu01", state: str = "MIXED", pools: Mapping[str, int] | None = None, **fields: object
) -> Node:
    """A node with {type: count} GPUs, 8 h100 unless told; `gpus_allocated` is 0 unless told."""
    kinds = {"h100": 8} if pools is None else pools
    base: dict[str, object] = {
        "partitions": ("gpu",),
        "cpus": 64,
        "allocated_cpus": 0,
        "memory_bytes": 1 << 40,
        "allocated_memory_bytes": 0,
        "gpu_pools": tuple(GpuPool(kind, total, None) for kind, total in kinds.items()),
        "gpus_allocated": 0,
    }
    return Node("demo", name, STATES[state], **{**base, **fields})  # type: ignore[arg-type]


def make_job(
    job_id: int = 100,
    node: str | None = "gpu01",
    gpus: int | None = 1,
    indices: tuple[int, ...] | None = None,
    state: str = "RUNNING",
    **fields: object,
) -> Job:
    """A job on one node (None = waiting), with the indices that slurmctld knows (None = forgotten)."""
    shards = fields.pop("shards", 0)
    devices = () if node is None else (NodeDevices(node, gpus, indices, shards=shards),)  # type: ignore[arg-type]
    base: dict[str, object] = {
        "display_id": str(job_id),
        "state": state,
        "name": f"job-{job_id}",
        "user": "alice",
        "account": "physics",
        "partition": "gpu",
        "submit_time": NOW - timedelta(hours=3),
        "start_time": None if node is None else NOW - timedelta(hours=2),
        "time_limit_seconds": 86400.0,
        "nodes": () if node is None else (node,),
        "requested": Tres(cpus=8, memory_bytes=1 << 33, nodes=1, gpus=gpus),
        "allocated": Tres() if node is None else Tres(cpus=8, memory_bytes=1 << 33, nodes=1, gpus=gpus),
        "devices": devices,
    }
    return Job("demo", job_id, **{**base, **fields})  # type: ignore[arg-type]


def uuid_of(node: str, index: int) -> str:
    return f"gpu-{node}-{index}"


def measure(
    node: str = "gpu01",
    index: int = 0,
    util: float | None = 0.5,
    labels: Iterable[str] = (),
    values: Mapping[str, float] | None = None,
    **device: object,
) -> DeviceReading:
    """One measured GPU; `util` None = UTIL is absent."""
    base: dict[str, object] = {"index": index, "uuid": uuid_of(node, index), "model": "NVIDIA H100 80GB HBM3"}
    measured = dict(values or {}) | ({} if util is None else {"gpu_utilization": util})
    return DeviceReading(Device(node, **{**base, **device}), measured, tuple(labels))  # type: ignore[arg-type]


def measure_slice(
    node: str = "mig01",
    index: int = 0,
    slice_id: str = "1",
    profile: str = "1g.10gb",
    gr: float | None = 0.37,
    labels: Iterable[str] = (),
    values: Mapping[str, float] | None = None,
) -> DeviceReading:
    measured = dict(values or {}) | ({} if gr is None else {"graphics_engine_activity": gr})
    device = Device(node, index, uuid_of(node, index), slice_id=slice_id, slice_profile=profile, model="NVIDIA H100")
    return DeviceReading(device, measured, tuple(labels))


def read(*devices: DeviceReading, at: datetime = NOW) -> Reading:
    return Reading(at, tuple(devices), sample_time=at - timedelta(seconds=10), interval_seconds=30.0)


def joined(
    nodes: Sequence[Node], jobs: Sequence[Job] = (), *devices: DeviceReading, inventory: Inventory | None = None
) -> Joined:
    return join(nodes, jobs, read(*devices), inventory or Inventory(), NOW)


def kinds(result: Joined) -> set[str]:
    return {note.kind for note in result.notes}


@dataclass
class FakeScheduler:
    """A scheduler that answers from lists; `fault` is raised instead, `delay` slept before."""

    node_rows: Sequence[Node] = ()
    job_rows: Sequence[Job] = ()
    finished: Sequence[Job] = ()
    kind: str = "fake"
    requests: int = 0
    slow_requests: int = 0
    fault: Exception | None = None
    slow_fault: Exception | None = None
    past_fault: Exception | None = None
    delay: float = 0.0
    broken: int = 0
    calls: list[str] = field(default_factory=list)
    details: Sequence[PendingDetail] = ()
    accounted: Sequence[Job] = ()
    hook: Callable[[], None] | None = None

    def _ask(self, what: str, at: datetime | None = None) -> None:
        self.calls.append(what)
        self.requests += 1
        if self.hook is not None:
            self.hook()
        if self.delay:
            time.sleep(self.delay)
        if at is not None and self.past_fault is not None:
            raise self.past_fault
        if self.fault is not None:
            raise self.fault

    def nodes(self, at: datetime | None = None) -> Rows[Node]:
        self._ask("nodes", at)
        return Rows(tuple(self.node_rows), self.broken, ("half a row",) if self.broken else ())

    def jobs(self, at: datetime | None = None) -> Rows[Job]:
        self._ask("jobs", at)
        return Rows(tuple(self.job_rows))

    def finished_jobs(self, since: datetime, until: datetime) -> Rows[Job]:
        self._ask("finished_jobs")
        return Rows(tuple(job for job in self.finished if _overlaps(job, since, until)))

    def job(self, job_id: str) -> tuple[Job, ...]:
        self._ask(f"job {job_id}")
        every = (*self.job_rows, *self.finished)
        return tuple(job for job in every if job_id in (job.display_id, str(job.job_id)))

    def job_script(self, job: Job) -> str | None:
        self._ask("job_script")
        return None if job.is_batch is False else f"#!/bin/bash\n#SBATCH --job-name={job.name}\n"

    def partitions(self) -> Rows[Partition]:
        self._slow("partitions")
        return Rows((Partition("demo", "gpu", "UP"),))

    def associations(self) -> Rows[Association]:
        self._slow("associations")
        return Rows((Association("demo", "physics", "root", "alice"),))

    def reservations(self) -> Rows[Reservation]:
        self._slow("reservations")
        return Rows(())

    def pending_details(self) -> Rows[PendingDetail]:
        self._ask("pending_details")
        return Rows(tuple(self.details))

    def accounted_running(self) -> Rows[Job]:
        self._slow("accounted_running")
        return Rows(tuple(self.accounted))

    def health(self) -> SourceHealth:
        self._slow("health")
        return SourceHealth(self.fault is None, version="22.05.8")

    def _slow(self, what: str) -> None:
        self.calls.append(what)
        self.slow_requests += 1
        if self.slow_fault is not None or self.fault is not None:
            raise self.slow_fault or self.fault  # type: ignore[misc]


def _overlaps(job: Job, since: datetime, until: datetime) -> bool:
    return job.start_time is not None and job.start_time < until and (job.end_time is None or job.end_time > since)


@dataclass
class FakeMetrics:
    """Metrics that answer from a list of devices, stamped with the clock."""

    devices: Sequence[DeviceReading] = ()
    clock: Callable[[], datetime] = lambda: NOW
    kind: str = "fake"
    requests: int = 0
    fault: Exception | None = None
    delay: float = 0.0
    dropped: Mapping[str, int] = field(default_factory=dict)
    gate: threading.Event | None = None
    windows: list[tuple[tuple[str, ...], Window, Scope | None]] = field(default_factory=list)
    window_answer: WindowReading | None = None
    sums_answer: Sequence[WindowSum] = ()

    def latest(self, metrics: Sequence[str], at: datetime | None = None) -> Reading:
        self.requests += 1
        if self.delay:
            time.sleep(self.delay)
        if self.gate is not None:
            self.gate.wait(10)
        if self.fault is not None:
            raise self.fault
        return replace(read(*self.devices, at=at or self.clock()), dropped=self.dropped, dialects=("dcgm_exporter",))

    def window(self, metrics: Sequence[str], window: Window, scope: Scope | None = None) -> WindowReading:
        self.requests += 1
        self.windows.append((tuple(metrics), window, scope))
        if self.fault is not None:
            raise self.fault
        return self.window_answer or WindowReading(window, (), 30.0)

    def sums(
        self,
        asks: Sequence[SumAsk],
        at: datetime,
        nodes: frozenset[str] | None = None,
        restarts: Sequence[float] = (),
    ) -> SumsReading:
        self.requests += 1
        if self.fault is not None:
            raise self.fault
        return SumsReading(at, tuple(self.sums_answer), 30.0)

    def series(
        self, metrics: Sequence[str], window: Window, scope: Scope, step_seconds: float | None = None
    ) -> Iterable[Series]:
        return ()

    def recorded(self) -> None:
        return None

    def health(self) -> SourceHealth:
        if self.fault is not None:
            raise self.fault
        return SourceHealth(True, version="2.42.0")
