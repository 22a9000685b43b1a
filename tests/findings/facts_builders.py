"""Builders of the facts about one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from data.findings import Finding, JobFacts, PartitionFacts, find
from data.model import Job, Series, WindowReading, WindowStat
from data.report import build_report
from settings import FindingLimits, JudgementSettings
from tests.report.job_builders import START, a_gpu, a_reading, gpu_stats

NODE = PartitionFacts(gpus_per_node=8, cores_per_node=96, memory_per_node_bytes=2000 << 30, max_time_seconds=48 * 3600)


def facts_of(
    job: Job,
    *stats: list[WindowStat],
    reading: WindowReading | None = None,
    partition: PartitionFacts = NODE,
    limits: FindingLimits | None = None,
    judgement: JudgementSettings | None = None,
    series: Sequence[Series] = (),
    hours: float = 5.0,
) -> JobFacts:
    found = limits or FindingLimits()
    judged = judgement or JudgementSettings()
    report = build_report(
        job,
        reading or a_reading(*stats, hours=hours),
        now=START + timedelta(hours=hours),
        limits=judged,
        findings=found,
        series=series,
    )
    return JobFacts(report, found, judged, partition)


def gpus(*values: Mapping[str, float] | None, node: str = "h014", **more: Any) -> list[WindowStat]:
    """Statistics of the GPUs of one node; None = not measured."""
    return [
        stat
        for index, means in enumerate(values)
        if means is not None
        for stat in gpu_stats(a_gpu(index, node), means, **more)
    ]


def found_in(facts: JobFacts) -> dict[str, Finding]:
    return {one.id: one for one in find(facts)}


def with_model(stats: list[WindowStat], model: str) -> list[WindowStat]:
    """The same statistics on devices of another model."""
    return [replace(stat, device=replace(stat.device, model=model)) for stat in stats if stat.device is not None]
