"""Jobs, as Slurm knows them: one `Job` is one attempt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from data.model.tres import Tres


@dataclass(frozen=True, slots=True)
class JobId:
    """A job id as a person writes it: 123, 123_7, 123_[1-10%2], 123+1, 123.batch."""

    job: int
    task: int | str | None = None
    het: int | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class ExitCode:
    """`status` is SUCCESS, ERROR, SIGNALED or PENDING; code and signal None = not set."""

    status: str
    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """What a job holds on one node. `gpu_indices` is None once slurmctld has forgotten them, and () for a
    CPU-only share. `gpu_type` None = untyped."""

    node: str
    gpu_count: int | None = None
    gpu_indices: tuple[int, ...] | None = None
    gpu_type: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    shards: int = 0


@dataclass(frozen=True, slots=True)
class JobUsage:
    """What Slurm itself measured (step rows). None = not measured, never 0 in its place.

    `gpu_utilization` is 0..1, already divided by the GPU count; `memory_used_bytes` the largest step's peak.
    """

    cpu_seconds: float | None = None
    memory_used_bytes: int | None = None
    gpu_utilization: float | None = None
    gpu_memory_used_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt of a job. Seconds, bytes, aware UTC times; None = not known.

    `job_id` is the raw id (what exporters usually carry), `display_id` what people write (123_7, 123+1), and `sluid`
    what Slurm 26.05 calls the cgroups of this attempt, so that exporters of cgroups know it by that.
    `time_limit_seconds` is inf for UNLIMITED. `array_task_count` > 1 only for a pending array not yet split.
    `end_time` is None while a job runs, and after a record without one. `resumed_time` is when a running job was last
    resumed after a suspension. `requested_memory_per` is "node", "cpu" or
    "gpu": which of --mem, --mem-per-cpu and --mem-per-gpu the job used. `derived_exit_code` is the worst of the steps.
    """

    cluster: str
    job_id: int
    display_id: str
    state: str
    state_flags: tuple[str, ...] = ()
    name: str = ""
    user: str | None = None
    user_id: int | None = None
    account: str | None = None
    partition: str = ""
    qos: str | None = None
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str | None = None
    array_task_count: int = 1
    het_job_id: int | None = None
    het_offset: int | None = None
    submit_time: datetime | None = None
    eligible_time: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None
    expected_start_time: datetime | None = None
    suspend_time: datetime | None = None
    suspended_seconds: float = 0.0
    resumed_time: datetime | None = None
    elapsed_seconds: float | None = None
    time_limit_seconds: float | None = None
    restart_count: int = 0
    nodes: tuple[str, ...] = ()
    requested: Tres = Tres()
    allocated: Tres = Tres()
    devices: tuple[NodeDevices, ...] = ()
    requested_memory_per: str | None = None
    requested_features: str | None = None
    requested_nodes: str | None = None
    reason: str | None = None
    priority: int | None = None
    dependency: str | None = None
    reservation: str | None = None
    exit_code: ExitCode | None = None
    derived_exit_code: ExitCode | None = None
    cancelled_by: str | None = None
    is_batch: bool | None = None
    command: str | None = None
    working_directory: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    sluid: str | None = None
    usage: JobUsage = JobUsage()

    @property
    def key(self) -> tuple[str, int, datetime | None, datetime | None]:
        """What makes an attempt unique: cluster, raw id, submit time, start time."""
        return (self.cluster, self.job_id, self.submit_time, self.start_time)

    @property
    def labels(self) -> frozenset[str]:
        """The labels by which exporters may know this job."""
        return frozenset((str(self.job_id), self.display_id, *([self.sluid] if self.sluid else [])))

    @property
    def is_running(self) -> bool:
        return self.state == "RUNNING"

    def elapsed_at(self, now: datetime) -> float | None:
        """Seconds run up to `now` or the end, suspended time left out; None before the start."""
        if self.start_time is None:
            return None
        if self.elapsed_seconds is not None and self.end_time is not None:
            return self.elapsed_seconds
        end = min(self.end_time or now, now)
        suspended = self.suspended_seconds
        if self.state == "SUSPENDED" and self.suspend_time is not None:
            suspended += max(0.0, (end - self.suspend_time).total_seconds())
        return max(0.0, (end - self.start_time).total_seconds() - suspended)


@dataclass(frozen=True, slots=True)
class PendingDetail:
    """Why and how long a job waits: priority parts by name (age, fairshare, partition, qos ...)."""

    job_id: int
    display_id: str
    expected_start_time: datetime | None = None
    priority: float | None = None
    priority_parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class JobFilter:
    """What the viewer asked to see; empty = everything. `text` matches id, name, user or account."""

    states: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()
    text: str = ""
