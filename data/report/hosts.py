"""CPU and host memory of a job, node by node: from the cgroup exporter, a JS1 summary or Slurm's own numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from data import js1
from data.efficiency import UNMEASURED, Share, coverage, cpu_efficiency, memory_efficiency, total_share
from data.model import Job, WindowStat
from data.report.gpus import Period
from data.report.model import UseSource

_NO_LIMIT_BYTES = 1 << 50  # a cgroup without a limit reports a number near 2**63


@dataclass(frozen=True, slots=True)
class HostUse:
    cores: int | None = None
    cpu: Share = UNMEASURED
    memory: Share = UNMEASURED
    coverage: float | None = None


@dataclass(frozen=True, slots=True)
class Hosts:
    """`by_node` is empty where only the job's sums (`cpu`, `memory`) are known."""

    source: UseSource
    by_node: Mapping[str, HostUse]
    cpu: Share
    memory: Share


NO_HOSTS = Hosts(UseSource.NONE, {}, UNMEASURED, UNMEASURED)


def hosts_of(job: Job, stats: Iterable[WindowStat], summary: js1.Summary | None, period: Period) -> Hosts:
    """Take the best source that measured anything."""
    for source, by_node in (
        (UseSource.SERIES, _from_series(job, stats, period)),
        (UseSource.JS1, _from_summary(job, summary, period)),
    ):
        if any(host.cpu.used is not None or host.memory.used is not None for host in by_node.values()):
            cpu = total_share(host.cpu for host in by_node.values())
            return Hosts(source, by_node, cpu, total_share(host.memory for host in by_node.values()))
    return _from_slurm(job, period)


def _from_series(job: Job, stats: Iterable[WindowStat], period: Period) -> dict[str, HostUse]:
    labels = job.labels
    by_node: dict[str, dict[str, WindowStat]] = {}
    for stat in stats:
        if stat.device is None and stat.count and stat.job_label in labels:
            by_node.setdefault(stat.node, {})[stat.metric] = stat
    return {node: _host(job, node, found, period) for node, found in by_node.items()}


def _host(job: Job, node: str, found: Mapping[str, WindowStat], period: Period) -> HostUse:
    cores = _maximum(found, "allocated_cores")
    cores = cores if cores else _given(job, node, "cpus")
    cpu = found.get("cpu_seconds")
    counts = [stat.count for name, stat in found.items() if name in ("cpu_seconds", "memory_used_bytes")]
    elapsed = None if period.elapsed_seconds is None else period.elapsed_seconds * period.share
    limit = _limit(job, node, _maximum(found, "memory_allocated_bytes") or _NO_LIMIT_BYTES)
    return HostUse(
        None if cores is None else round(cores),
        cpu_efficiency(
            cpu.sum if cpu else None, cores, elapsed, slack_seconds=max(1.0, period.interval_seconds or 1.0)
        ),
        memory_efficiency(_maximum(found, "memory_used_bytes"), limit),
        coverage(min(counts), period.seconds, period.interval_seconds) if counts else None,
    )


def _from_summary(job: Job, summary: js1.Summary | None, period: Period) -> dict[str, HostUse]:
    if summary is None:
        return {}
    elapsed = summary.elapsed_seconds or period.elapsed_seconds
    return {
        node.node: HostUse(
            node.cores,
            cpu_efficiency(node.cpu_seconds, node.cores, elapsed),
            memory_efficiency(node.memory_used_bytes, _limit(job, node.node, node.memory_allocated_bytes)),
        )
        for node in summary.nodes
    }


def _from_slurm(job: Job, period: Period) -> Hosts:
    """Slurm's sums of the steps. The memory is the largest step's peak: of one node where there are several."""
    usage = job.usage
    cpu = cpu_efficiency(usage.cpu_seconds, job.allocated.cpus, period.elapsed_seconds)
    memory = memory_efficiency(usage.memory_used_bytes, job.allocated.memory_bytes)
    if cpu.used is None and memory.used is None:
        return NO_HOSTS
    by_node = {job.nodes[0]: HostUse(job.allocated.cpus, cpu, memory)} if len(job.nodes) == 1 else {}
    return Hosts(UseSource.SLURM, by_node, cpu, memory if len(job.nodes) <= 1 else UNMEASURED)


def _maximum(found: Mapping[str, WindowStat], metric: str) -> float | None:
    stat = found.get(metric)
    return stat.maximum if stat else None


def _limit(job: Job, node: str, told: float | None) -> float | None:
    """The memory given on a node: of a cgroup without a limit, what Slurm says."""
    return told if told is None or told < _NO_LIMIT_BYTES else _given(job, node, "memory_bytes")


def _given(job: Job, node: str, what: str) -> float | None:
    """Slurm's count on one node, or the job's where it has only this node."""
    for held in job.devices:
        value = getattr(held, what) if held.node == node else None
        if value is not None:
            return float(value)
    total: int | None = getattr(job.allocated, what)
    return float(total) if total is not None and job.nodes == (node,) else None
