"""From rows to the job: means over devices, sums over nodes, judgements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from data import words
from data.efficiency import GpuHours, Judgement, Mean, Share, job_mean, judge_mean, judge_share, not_judged, total_hours
from data.efficiency.judge import first_reason
from data.efficiency.share import total_share
from data.metrics.registry import METRICS
from data.model import JoinMethod
from data.report.model import GpuUse, JobReport, UseSource
from settings import FindingLimits, JudgementSettings

_JOIN_ORDER = tuple(JoinMethod)
_MOST_NAMES = 4
_JUDGED_ENDS = ("COMPLETED", "TIMEOUT")


def utilization_of(rows: Sequence[GpuUse], gpu_count: int | None) -> Mean:
    """Job mean over the allocated rows, with k of n; n is not known where the GPU count is not."""
    values = [row.utilization for row in rows if row.is_allocated]
    mean = job_mean(values, total=gpu_count or len(values))
    return Mean(mean.value, mean.measured, None) if gpu_count is None else mean


def metric_means(rows: Sequence[GpuUse]) -> dict[str, Mean]:
    """Job mean of every metric that any allocated row has; a card counts once for what is the whole card's."""
    given = [row for row in rows if row.is_allocated]
    names = sorted({name for row in given for name, use in row.metrics.items() if use.mean is not None})
    means = {name: _metric_mean(name, given) for name in names}
    gap = job_mean([row.utilization_gap for row in given], most=None)
    if gap.value is not None:
        means["utilization_gap"] = Mean(gap.value, gap.measured, gap.total)  # without bounds: it may be negative
    return means


def gpu_memory_of(rows: Sequence[GpuUse]) -> Share:
    return total_share(row.memory for row in rows if row.is_allocated)


def hours_of(rows: Sequence[GpuUse], gpu_count: int | None) -> GpuHours | None:
    """Hours of the allocated rows; None where the GPU count or the elapsed time is not known."""
    given = [row for row in rows if row.is_allocated]
    if gpu_count is None or any(row.hours is None for row in given):
        return None
    return total_hours(row.hours for row in given)


def least_coverage(rows: Sequence[GpuUse]) -> float | None:
    known = [row.coverage for row in rows if row.is_allocated]
    sound = [share for share in known if share is not None]
    return min(sound) if sound and len(sound) == len(known) else None


def worst_join(joins: Iterable[JoinMethod | None]) -> JoinMethod | None:
    known = [join for join in joins if join is not None]
    return max(known, key=_JOIN_ORDER.index) if known else None


def mapping_faults(rows: Sequence[GpuUse], limits: FindingLimits) -> tuple[str, ...]:
    """Where metrics and Slurm disagree, in words."""
    extra = [row.label for row in rows if not row.is_allocated]
    crowded = [row for row in rows if row.coverage is not None and row.coverage > limits.max_coverage]
    faults = []
    if extra:
        faults.append(f"Mapping disagrees: metrics name this job on {_listed(extra)}, which Slurm did not give it.")
    if crowded:
        most = words.percent(max(row.coverage or 0.0 for row in crowded))
        names = _listed([row.label for row in crowded])
        faults.append(f"Mapping disagrees: {names} with up to {most} of the samples that the time allows.")
    return tuple(faults)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {words.number(len(names) - _MOST_NAMES)} more"


def doubt(report: JobReport, limits: FindingLimits) -> str | None:
    """Why the GPU numbers of this job are no ground for a judgement; None = they are."""
    least = report.coverage
    rows = report.allocated_gpus
    reasons = (
        (report.gpu_count == 0 and not rows, "no GPUs"),
        (bool(report.faults), "mapping disagrees"),
        (report.is_too_short, "too short"),
        (report.join is JoinMethod.NODE_ESTIMATE, "node-level estimate"),
        (any(row.is_shared for row in rows), "GPU shared with other jobs"),
        (report.window_share < limits.min_coverage, "only part of the run was read"),
        (report.suspended_share > limits.max_suspended_share, "suspended for part of its time"),
        (bool(report.measured_gpus) and least is not None and 0 < least < limits.min_coverage, "partly measured"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def judgements(report: JobReport, limits: JudgementSettings, findings: FindingLimits) -> dict[str, Judgement]:
    """Judge gpu, cpu, memory, gpu_memory and time by the site's limits."""
    elapsed = report.elapsed_seconds
    young = "not started" if elapsed is None else f"ran under {limits.min_seconds / 60:.0f} min"
    if elapsed is None or elapsed < limits.min_seconds:
        return {name: not_judged(young) for name in ("gpu", "cpu", "memory", "gpu_memory", "time")}
    doubtful = doubt(report, findings)
    return {
        "gpu": not_judged(doubtful)
        if doubtful
        else judge_mean(report.utilization, bad=limits.gpu_bad, low=limits.gpu_low),
        "cpu": _judge_host(report, report.cpu, limits.cpu_bad, limits.cpu_low, findings),
        "memory": _judge_host(report, report.memory, None, limits.memory_low, findings),
        "gpu_memory": not_judged(""),
        "time": _judge_time(report, limits),
    }


def _judge_host(report: JobReport, part: Share, bad: float | None, low: float, limits: FindingLimits) -> Judgement:
    measured = report.host_nodes_measured
    coverages = [node.host_coverage for node in report.nodes if node.host_coverage is not None]
    is_cut = report.host_source is UseSource.SERIES and report.window_share < limits.min_coverage
    is_partial = is_cut or 0 < measured < len(report.nodes) or any(share < limits.min_coverage for share in coverages)
    return first_reason((is_partial, "partly measured"), then=lambda: judge_share(part, bad=bad, low=low))


def _judge_time(report: JobReport, limits: JudgementSettings) -> Judgement:
    state = report.job.state
    limit = report.job.time_limit_seconds
    return first_reason(
        (report.job.end_time is None, "still running"),
        (limit is not None and math.isinf(limit), "no limit"),
        (state not in _JUDGED_ENDS, f"ended as {state}"),
        then=lambda: judge_share(report.time, bad=limits.time_bad, low=limits.time_low),
    )


def _metric_mean(name: str, rows: Sequence[GpuUse]) -> Mean:
    facts = METRICS.get(name)
    most = facts.maximum if facts is not None and facts.unit == "ratio" else None
    if facts is None or not facts.is_whole_card:
        return job_mean([row.mean(name) for row in rows], most=most)
    cards = {row.device.key[:2] if row.device else (row.node, f"?{place}"): row for place, row in enumerate(rows)}
    return job_mean([row.mean(name) for row in cards.values()], most=most)


def means_by_weight(means: Mapping[int, Mean]) -> Mean:
    """Join the means of the components of one job by their device counts."""
    parts = [mean for mean in means.values() if mean.measured]
    total = None if any(mean.total is None for mean in means.values()) else sum(m.total or 0 for m in means.values())
    measured = sum(mean.measured for mean in parts)
    if not measured:
        return Mean(None, 0, total)
    value = sum((mean.value or 0.0) * mean.measured for mean in parts) / measured
    if total is None:
        return Mean(value, measured, None)
    return Mean(value, measured, total, value * measured / total, (value * measured + total - measured) / total)
