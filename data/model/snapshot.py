"""One consistent picture of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from data.model.device import Device
from data.model.job import Job
from data.model.node import Node, Partition, Reservation
from data.model.source import SourceState


class GpuState(StrEnum):
    """One exclusive class per GPU or slice; what a cell of the map shows."""

    BUSY = "busy"  # held by a job and doing work
    IDLE = "idle"  # held by a job, measured, and doing nothing ("held, idle")
    UNMEASURED = "unmeasured"  # held by a job, and not measured
    HELD_UNKNOWN = "unknown"  # Slurm does not say whether it is held (gres/gpu not tracked)
    FREE = "free"
    DRAINED = "drained"  # nobody's, and its node takes no new work (drained, maintenance, reboot ...)
    DOWN = "down"


class JoinMethod(StrEnum):
    """How a device came to its job, best first."""

    JOB_LABEL = "job_label"  # the exporter's own job label
    INDEX = "index"  # Slurm's allocated indices through the index-to-UUID inventory
    NODE_ESTIMATE = "node_estimate"  # only the node is known: never a ground to act on


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU or MIG slice of the cluster at the snapshot's time, allocation and measurement joined.

    Every configured device is here, measured or not. `values` by metric name, absent = not measured.
    `job_ids` are raw ids; more than one = shared. `weight` is the share of a whole GPU (1, or slices / model's
    slices), `weight_known` False where the profile is not known. `slurm_index` is the N of Slurm's (IDX:N), which
    need not be the exporter's index. `signals_disagree`: UTIL says idle and another signal says busy.
    """

    device: Device
    model: str | None
    state: GpuState
    job_ids: tuple[int, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    join: JoinMethod | None = None
    is_shared: bool = False
    weight: float = 1.0
    weight_known: bool = True
    slurm_index: int | None = None
    signals_disagree: bool = False

    @property
    def utilization(self) -> float | None:
        """UTIL, or GR on a MIG slice; None = not measured."""
        if self.device.slice_id is None and "gpu_utilization" in self.values:
            return self.values["gpu_utilization"]
        return self.values.get("graphics_engine_activity")


@dataclass(frozen=True, slots=True)
class Note:
    """Something that does not add up between Slurm and the metrics: `kind` for code, `text` for people.

    `subject` is a node (or "" for the cluster). `job_ids` are the jobs concerned, never named in `text`.
    """

    kind: str
    subject: str
    text: str
    count: int = 1
    job_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """Nodes, GPUs and running, pending and suspended jobs of one moment.

    `time` is the moment that the picture shows, `made_at` when it was put together; `is_past` for an `at` view.
    `runaway` are jobs that only accounting believes to run, the oldest first: they hold nothing and count nowhere.
    `unknown` says in words what this picture cannot know; `slurm_time` / `metrics_time` are the ages of the parts.
    """

    cluster: str
    time: datetime
    made_at: datetime
    nodes: tuple[Node, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    jobs: tuple[Job, ...] = ()
    partitions: tuple[Partition, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    sources: tuple[SourceState, ...] = ()
    slurm_time: datetime | None = None
    metrics_time: datetime | None = None
    is_past: bool = False
    unknown: tuple[str, ...] = ()
    version: str = ""
    notes: tuple[Note, ...] = ()
    runaway: tuple[Job, ...] = ()
