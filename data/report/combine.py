"""One report of a heterogeneous job from those of its components."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from data.efficiency import total_hours, total_share
from data.report.model import JobReport, NodeUse, UseSource
from data.report.summary import judgements, least_coverage, means_by_weight, metric_means, worst_join
from settings import FindingLimits, JudgementSettings

_SOURCE_ORDER = tuple(UseSource)


def combine(
    reports: Iterable[JobReport], *, limits: JudgementSettings, findings: FindingLimits | None = None
) -> JobReport:
    """Join the components of one het job, each counted once however often it is given; the leader speaks for time.

    The parts stay in `components`. Raises ValueError for no report or for parts of different jobs.
    """
    unique = {report.job.key: report for report in reports}
    parts = sorted(unique.values(), key=lambda report: report.job.het_offset or 0)
    if not parts:
        raise ValueError("no report to combine")
    if len({(part.job.cluster, part.job.het_job_id or part.job.job_id) for part in parts}) > 1:
        raise ValueError("these reports are not of one job: " + ", ".join(part.job.display_id for part in parts))
    if len(parts) == 1:
        return parts[0]
    combined = _joined(parts)
    return replace(combined, judgements=judgements(combined, limits, findings or FindingLimits()))


def _joined(parts: list[JobReport]) -> JobReport:
    gpus = tuple(gpu for part in parts for gpu in part.gpus)
    hours = [part.hours for part in parts]
    counts = [part.gpu_count for part in parts]
    device_hours = [part.device_hours for part in parts]
    return replace(
        parts[0],
        gpu_count=None if None in counts else sum(count or 0 for count in counts),
        gpus=gpus,
        nodes=_nodes(parts),
        gpu_source=_source(part.gpu_source for part in parts),
        host_source=_source(part.host_source for part in parts),
        utilization=means_by_weight({place: part.utilization for place, part in enumerate(parts)}),
        gpu_memory=total_share(part.gpu_memory for part in parts),
        cpu=total_share(part.cpu for part in parts),
        memory=total_share(part.memory for part in parts),
        metrics=metric_means(gpus),
        hours=None if None in hours else total_hours(hours),
        device_hours=None if None in device_hours else sum(one or 0.0 for one in device_hours),
        coverage=least_coverage(gpus),
        join=worst_join(part.join for part in parts),
        window_share=min(part.window_share for part in parts),
        is_too_short=any(part.is_too_short for part in parts),
        faults=tuple(dict.fromkeys(fault for part in parts for fault in part.faults)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        components=tuple(parts),
    )


def _nodes(parts: list[JobReport]) -> tuple[NodeUse, ...]:
    return tuple(node for part in parts for node in part.nodes)


def _source(sources: Iterable[UseSource]) -> UseSource:
    """The weakest of the sources that measured anything."""
    return max((one for one in sources if one is not UseSource.NONE), key=_SOURCE_ORDER.index, default=UseSource.NONE)
