"""What a finding may look at: the report, the limits, and what the partition offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from data.efficiency import device_weight, slice_profile
from data.gpu_models import GIB, gpu_model
from data.model import Job, JoinMethod, Node, Partition
from data.report import GpuUse, JobReport, UseSource
from settings import FindingLimits, JudgementSettings


@dataclass(frozen=True, slots=True)
class GpuOffer:
    """A kind of GPU or slice that the cluster has. `memory_bytes` None = not known."""

    type: str
    partition: str
    memory_bytes: int | None
    weight: float
    is_slice: bool


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What one node of the job's kind has, and what else the cluster offers; None = not known."""

    gpus_per_node: int | None = None
    cores_per_node: int | None = None
    memory_per_node_bytes: int | None = None
    max_time_seconds: float | None = None
    offers: tuple[GpuOffer, ...] = ()


@dataclass(frozen=True)
class JobFacts:
    """What every finding asks for is worked out once, and `kept`. `partition` is of the job's own nodes; of a het job,
    `parts` holds those of each component by its display id."""

    report: JobReport
    limits: FindingLimits
    judgement: JudgementSettings
    partition: PartitionFacts = PartitionFacts()
    parts: Mapping[str, PartitionFacts] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def job(self) -> Job:
        return self.report.job

    @property
    def is_old_enough(self) -> bool:
        elapsed = self.report.elapsed_seconds
        return elapsed is not None and elapsed >= self.judgement.min_seconds

    @property
    def has_ended(self) -> bool:
        return self.job.end_time is not None

    @cached_property
    def sound_gpus(self) -> tuple[GpuUse, ...]:
        """Allocated GPUs whose own numbers can be trusted; () when the job's mapping cannot."""
        report = self.report
        if report.gpu_source is UseSource.SERIES and report.window_share < self.limits.min_coverage:
            return ()
        was_suspended = report.suspended_share > self.limits.max_suspended_share
        if not self.is_old_enough or report.faults or report.is_too_short or was_suspended:
            return ()
        return tuple(gpu for gpu in report.measured_gpus if self._is_sound(gpu))

    @property
    def are_all_gpus_sound(self) -> bool:
        count = self.report.gpu_count
        return bool(count) and len(self.sound_gpus) == len(self.report.allocated_gpus) == count

    @cached_property
    def are_hosts_sound(self) -> bool:
        """Whether CPU and memory of every node were measured for enough of the time."""
        nodes = self.report.nodes
        if not self.is_old_enough or not nodes or self.report.host_source is UseSource.NONE:
            return False
        if self.report.host_source is UseSource.SLURM:
            return True
        if self.report.host_source is UseSource.SERIES and self.report.window_share < self.limits.min_coverage:
            return False
        return all(node.is_host_measured and _is_covered(node.host_coverage, self.limits) for node in nodes)

    @cached_property
    def cpu_utilization(self) -> float | None:
        """The job's CPU utilization where it is sound and plausible."""
        return self.report.cpu.countable if self.are_hosts_sound else None

    def _is_sound(self, gpu: GpuUse) -> bool:
        if gpu.is_shared or gpu.join is JoinMethod.NODE_ESTIMATE:
            return False
        if self.report.gpu_source is UseSource.JS1:
            return True
        return gpu.coverage is not None and self.limits.min_coverage <= gpu.coverage <= self.limits.max_coverage


def partition_facts(job: Job, nodes: Sequence[Node], partitions: Sequence[Partition] = ()) -> PartitionFacts:
    """Gather the facts: of the job's own nodes (the smallest counts), else of the usual node of its partition."""
    own = [node for node in nodes if node.name in job.nodes]
    like = own or [node for node in nodes if job.partition in node.partitions]
    pick: Callable[[Iterable[int | None]], int | None] = _least if own else _usual
    limit = next((one.max_time_seconds for one in partitions if one.name == job.partition), None)
    return PartitionFacts(
        pick(node.gpus_total or None for node in like),
        pick(node.cpus for node in like),
        pick(node.memory_bytes for node in like),
        limit,
        _offers(nodes),
    )


def _offers(nodes: Sequence[Node]) -> tuple[GpuOffer, ...]:
    offers: dict[str, GpuOffer] = {}
    for node in nodes:
        for pool in node.gpu_pools:
            if pool.type and pool.type not in offers:
                offers[pool.type] = _offer(pool.type, node.partitions[0] if node.partitions else "")
    return tuple(offers.values())


def _offer(gpu_type: str, partition: str) -> GpuOffer:
    profile, model = slice_profile(gpu_type), gpu_model(gpu_type)
    if profile is not None:
        memory = int(profile.split(".")[1].removesuffix("gb")) * GIB
    else:
        memory = model.memory_bytes if model else 0
    return GpuOffer(gpu_type, partition, memory or None, device_weight(gpu_type, gpu_type).value, profile is not None)


def _is_covered(coverage: float | None, limits: FindingLimits) -> bool:
    return coverage is None or coverage >= limits.min_coverage


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _usual(values: Iterable[int | None]) -> int | None:
    counted = Counter(value for value in values if value is not None)
    return counted.most_common(1)[0][0] if counted else None
