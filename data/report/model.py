"""The parts of a job report. Ratios 0..1, bytes, seconds; None and absent = not measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from data.efficiency import NOTHING, UNMEASURED, GpuHours, Judgement, Mean, Share, utilization_gap
from data.gpu_models import GpuModel, gpu_model
from data.js1 import Outcome
from data.model import Device, Job, JoinMethod


class UseSource(StrEnum):
    """Where numbers came from, best first."""

    SERIES = "metrics"
    JS1 = "JS1 summary"
    SLURM = "Slurm accounting"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MetricUse:
    """One metric of one device over the period. `total` is the increase of a counter, whose mean is None;
    `samples` is None where a summary knows only the mean."""

    mean: float | None
    minimum: float | None = None
    maximum: float | None = None
    samples: int | None = None
    idle_share: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True)
class Swing:
    """Share of utilization samples that were low, and that were high."""

    low_share: float
    high_share: float


def utilization_metric(metrics: Mapping[str, MetricUse], device: Device | None) -> str | None:
    """UTIL, or GR on a slice or where UTIL is absent; None = neither was measured."""
    is_slice = device is not None and device.slice_id is not None
    for name in ("graphics_engine_activity",) if is_slice else ("gpu_utilization", "graphics_engine_activity"):
        use = metrics.get(name)
        if use is not None and use.mean is not None:
            return name
    return None


@dataclass(frozen=True)
class GpuUse:
    """One GPU or slice. `device` None = allocated, and not told apart or not seen.

    `coverage` is that of the utilization, uncapped; None where it cannot be known. `is_allocated` False = the
    metrics name the job on a device that Slurm did not give it. `is_shared` = others use the device, too.
    """

    node: str
    device: Device | None = None
    model_name: str | None = None
    is_slice: bool = False
    metrics: Mapping[str, MetricUse] = field(default_factory=dict)
    coverage: float | None = None
    weight: float = 1.0
    is_weight_known: bool = True
    hours: GpuHours | None = None
    join: JoinMethod | None = None
    is_allocated: bool = True
    is_shared: bool = False
    swing: Swing | None = None

    @cached_property
    def utilization_metric(self) -> str | None:
        """UTIL, or GR on a slice or where UTIL is absent; None = neither was measured."""
        return utilization_metric(self.metrics, self.device)

    @cached_property
    def utilization(self) -> float | None:
        name = self.utilization_metric
        return None if name is None else self.mean(name)

    @property
    def idle_share(self) -> float | None:
        name = self.utilization_metric
        return None if name is None else self.metrics[name].idle_share

    @property
    def is_idle(self) -> bool | None:
        """Whether it never did anything; None = not measured."""
        return None if self.utilization is None else self.utilization == 0 or self.idle_share == 1

    @property
    def utilization_gap(self) -> float | None:
        """UTIL - SM; not of GR, which is not UTIL."""
        return utilization_gap(self.mean("gpu_utilization"), self.mean("sm_activity"))

    @property
    def memory(self) -> Share:
        """Peak GPU memory of the device's."""
        return Share(self.maximum("gpu_memory_used_bytes"), self.maximum("gpu_memory_total_bytes"))

    @cached_property
    def model(self) -> GpuModel | None:
        return gpu_model(self.device.model if self.device else None, self.model_name)

    @property
    def label(self) -> str:
        return self.device.label if self.device else f"{self.node}/?"

    @property
    def means(self) -> dict[str, float | None]:
        return {name: use.mean for name, use in self.metrics.items()}

    def mean(self, metric: str) -> float | None:
        use = self.metrics.get(metric)
        return use.mean if use else None

    def maximum(self, metric: str) -> float | None:
        use = self.metrics.get(metric)
        return use.maximum if use else None


@dataclass(frozen=True, slots=True)
class NodeUse:
    """The job's share of one node. `gpus` are those of `JobReport.gpus` on this node, `gpu_count` what Slurm gave.

    `host_coverage` is the measured share of the CPU and memory samples; None where a summary does not say.
    """

    node: str
    cores: int | None = None
    cpu: Share = UNMEASURED
    memory: Share = UNMEASURED
    host_coverage: float | None = None
    gpu_count: int | None = None
    gpus: tuple[GpuUse, ...] = ()
    utilization: Mean = NOTHING
    gpu_memory: Share = UNMEASURED

    @property
    def is_host_measured(self) -> bool:
        return self.cpu.value is not None or self.memory.used is not None


@dataclass(frozen=True)
class JobReport:
    """`metrics` are job means by metric name, over the measured allocated devices.

    `coverage` is the smallest of the allocated devices (uncapped); None where it cannot be known. `window_share` is
    the part of the run that series were read for: 1 but for a reading that was cut short on purpose. `faults` say in
    words why GPU numbers must not be trusted, `notes` what else a reader should know.
    """

    job: Job
    at: datetime
    elapsed_seconds: float | None
    gpu_count: int | None
    gpus: tuple[GpuUse, ...]
    nodes: tuple[NodeUse, ...]
    gpu_source: UseSource
    host_source: UseSource
    utilization: Mean
    gpu_memory: Share
    cpu: Share
    memory: Share
    time: Share
    metrics: Mapping[str, Mean] = field(default_factory=dict)
    hours: GpuHours | None = None
    device_hours: float | None = None
    coverage: float | None = None
    join: JoinMethod | None = None
    interval_seconds: float | None = None
    window_share: float = 1.0
    is_too_short: bool = False
    summary_outcome: Outcome = Outcome.NONE
    judgements: Mapping[str, Judgement] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    components: tuple[JobReport, ...] = ()

    @cached_property
    def allocated_gpus(self) -> tuple[GpuUse, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.is_allocated)

    @cached_property
    def measured_gpus(self) -> tuple[GpuUse, ...]:
        return tuple(gpu for gpu in self.allocated_gpus if gpu.utilization is not None)

    @property
    def is_shared(self) -> bool:
        return any(gpu.is_shared for gpu in self.allocated_gpus)

    @property
    def suspended_share(self) -> float:
        """Share of the time since the start in which the job was suspended."""
        start, elapsed = self.job.start_time, self.elapsed_seconds
        if start is None or elapsed is None:
            return 0.0
        wall = (min(self.job.end_time or self.at, self.at) - start).total_seconds()
        return max(0.0, wall - elapsed) / wall if wall > 0 else 0.0

    @property
    def host_nodes_measured(self) -> int:
        return sum(node.is_host_measured for node in self.nodes)
