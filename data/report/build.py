"""Put one attempt's report together from Slurm's facts and whatever measured it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from data import js1
from data.efficiency import Mean, gpu_hours, is_too_short, time_share
from data.efficiency.coverage import expected_samples
from data.efficiency.hours import device_hours
from data.model import Job, Series, WindowReading, WindowStat
from data.report.allocation import Allocation, allocation_of
from data.report.gpus import Period, gpu_rows, js1_devices, with_swings
from data.report.hosts import Hosts, HostUse, hosts_of
from data.report.join import Inventory, OwnDevice, join_devices, own_devices
from data.report.model import GpuUse, JobReport, NodeUse, UseSource
from data.report.notes import notes_of, summary_faults
from data.report.summary import (
    gpu_memory_of,
    hours_of,
    judgements,
    least_coverage,
    mapping_faults,
    metric_means,
    utilization_of,
    worst_join,
)
from settings import FindingLimits, JudgementSettings

_EARLY = "The window begins before this attempt of the job: its numbers were left out."


@dataclass(frozen=True, slots=True)
class _Measured:
    """GPU rows from one source. `overall` is set where a source knows only the job's mean."""

    source: UseSource
    rows: tuple[GpuUse, ...]
    overall: float | None = None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of devices beside the statistics."""

    inventory: Inventory | None
    own: Sequence[OwnDevice] | None


def build_report(
    job: Job,
    readings: WindowReading | None = None,
    host: WindowReading | None = None,
    *,
    now: datetime,
    limits: JudgementSettings,
    findings: FindingLimits | None = None,
    interval_seconds: float | None = None,
    inventory: Inventory | None = None,
    series: Sequence[Series] = (),
    left_out_seconds: float = 0.0,
    own: Sequence[OwnDevice] | None = None,
) -> JobReport:
    """Report on one attempt, running or finished.

    `readings` and `host` hold window statistics of devices and of (job, node); host statistics may also be in
    `readings`. Without usable ones the JS1 summary in the job's AdminComment counts, then Slurm's own numbers.
    `inventory` maps (node, Slurm's index) to a device; `series` of the utilization show how it swings. The window
    must not begin before the attempt: such a reading is left out and named in `faults`. `left_out_seconds` of the
    window were suspended, and the statistics hold no samples of them. `own` are the job's devices where that is settled
    already: `readings` then hold statistics of hosts alone.
    """
    limits_of_findings = findings or FindingLimits()
    interval = interval_seconds or (readings.interval_seconds if readings else None)
    given = [one for one in (readings, host) if one is not None and job.start_time is not None]
    usable = [one for one in given if not _is_early(one, job, interval)]
    period = _period(job, usable[0] if usable else None, now, interval, left_out_seconds)
    known = _Known(inventory, own if len(usable) == len(given) else None)
    report = _measured_report(job, usable, period, now, known, series, limits_of_findings)
    if len(usable) < len(given):
        report = replace(report, faults=(_EARLY, *report.faults))
    return replace(report, judgements=judgements(report, limits, limits_of_findings))


def _measured_report(
    job: Job,
    readings: Sequence[WindowReading],
    period: Period,
    now: datetime,
    known: _Known,
    series: Sequence[Series],
    limits: FindingLimits,
) -> JobReport:
    stats = tuple(stat for one in readings for stat in one.stats)
    decoded = js1.decode(job.admin_comment)
    allocation = allocation_of(job)
    measured = _measure(job, allocation, stats, decoded.summary, period, known)
    rows = measured.rows
    if series:
        rows = with_swings(rows, series, low=limits.swing_low, high=limits.swing_high)
    hosts = hosts_of(job, stats, decoded.summary, period)
    measured = _Measured(measured.source, rows, measured.overall, (*measured.faults, *mapping_faults(rows, limits)))
    report = _assemble(job, now, period, allocation, measured, hosts)
    return replace(report, summary_outcome=decoded.outcome, notes=notes_of(decoded, report))


def _measure(
    job: Job,
    allocation: Allocation,
    stats: Sequence[WindowStat],
    summary: js1.Summary | None,
    period: Period,
    known: _Known,
) -> _Measured:
    expected = expected_samples(period.seconds, period.interval_seconds)
    if known.own is None:
        joined = join_devices(job, allocation, stats, expected=expected, inventory=known.inventory)
    else:
        joined = own_devices(known.own, allocation)
    rows = gpu_rows(joined, allocation, period)
    if any(row.utilization is not None for row in rows):
        return _Measured(UseSource.SERIES, rows)
    if summary is not None:
        from_summary = gpu_rows(js1_devices(summary), _with_count(allocation, summary), period, is_summary=True)
        if any(row.metrics for row in from_summary):
            return _Measured(UseSource.JS1, from_summary, faults=summary_faults(summary, period))
    overall = job.usage.gpu_utilization
    if allocation.total and overall is not None and 0 < overall <= 1:
        return _Measured(UseSource.SLURM, _evenly(rows, period, overall), overall)
    return _Measured(UseSource.NONE, rows)


def _with_count(allocation: Allocation, summary: js1.Summary) -> Allocation:
    """Where Slurm does not track GPUs, the summary's own count stands in."""
    return allocation if allocation.total is not None else replace(allocation, total=summary.gpu_count)


def _evenly(rows: Sequence[GpuUse], period: Period, overall: float) -> tuple[GpuUse, ...]:
    """Slurm knows one mean for the job: it gives each GPU's hours, and no GPU's own utilization."""
    return tuple(
        replace(
            row,
            hours=device_hours(period.elapsed_seconds, measured_share=1.0, mean=overall, idle=None, weight=row.weight),
        )
        for row in rows
    )


def _assemble(
    job: Job, now: datetime, period: Period, allocation: Allocation, measured: _Measured, hosts: Hosts
) -> JobReport:
    rows = measured.rows
    count = allocation.total
    if count is None and measured.source is UseSource.JS1:
        count = sum(row.is_allocated for row in rows)
    utilization = utilization_of(rows, count)
    if measured.overall is not None and count:
        utilization = Mean(measured.overall, count, count, measured.overall, measured.overall)
    return JobReport(
        job=job,
        at=now,
        elapsed_seconds=period.elapsed_seconds,
        gpu_count=count,
        gpus=rows,
        nodes=_nodes(rows, allocation, hosts),
        gpu_source=measured.source,
        host_source=hosts.source,
        utilization=utilization,
        gpu_memory=gpu_memory_of(rows),
        cpu=hosts.cpu,
        memory=hosts.memory,
        time=time_share(period.elapsed_seconds, job.time_limit_seconds),
        metrics=metric_means(rows),
        hours=None if period.elapsed_seconds is None else hours_of(rows, count),
        device_hours=gpu_hours(period.elapsed_seconds, count),
        coverage=least_coverage(rows),
        join=worst_join(row.join for row in rows if row.is_allocated),
        interval_seconds=period.interval_seconds,
        window_share=period.share if measured.source is UseSource.SERIES or hosts.source is UseSource.SERIES else 1.0,
        is_too_short=is_too_short(period.seconds, period.interval_seconds),
        faults=measured.faults,
    )


def _nodes(rows: Sequence[GpuUse], allocation: Allocation, hosts: Hosts) -> tuple[NodeUse, ...]:
    by_node: dict[str, list[GpuUse]] = {name: [] for name in (*allocation.nodes, *hosts.by_node)}
    for row in rows:
        if row.node:
            by_node.setdefault(row.node, []).append(row)
    return tuple(_node(name, tuple(mine), allocation, hosts) for name, mine in by_node.items())


def _node(name: str, mine: tuple[GpuUse, ...], allocation: Allocation, hosts: Hosts) -> NodeUse:
    host = hosts.by_node.get(name)
    count = allocation.by_node.get(name)
    host = host or HostUse()
    return NodeUse(
        name,
        host.cores,
        host.cpu,
        host.memory,
        host.coverage,
        gpu_count=count,
        gpus=mine,
        utilization=utilization_of(mine, len(mine) if count is None else count),
        gpu_memory=gpu_memory_of(mine),
    )


def _period(job: Job, reading: WindowReading | None, now: datetime, interval: float | None, left_out: float) -> Period:
    elapsed = job.elapsed_at(now)
    if job.start_time is None:
        return Period(0.0, 0.0, elapsed, interval)
    end = min(job.end_time or now, now)
    wall = max(0.0, (end - job.start_time).total_seconds())
    if reading is None:
        return Period(wall, 1.0, elapsed, interval)
    first, last = max(job.start_time, reading.window.start), min(end, reading.window.end)
    seconds = max(0.0, (last - first).total_seconds())
    share = min(1.0, seconds / wall) if wall else 0.0
    return Period(max(0.0, seconds - left_out), share, elapsed, interval)


def _is_early(reading: WindowReading, job: Job, interval: float | None) -> bool:
    return job.start_time is not None and (job.start_time - reading.window.start).total_seconds() > (interval or 1.0)
