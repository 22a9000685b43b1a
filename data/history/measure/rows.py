"""Rows of `jobs/` and `usage/` out of what attempts used: Arrow tables in the datasets' schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from data.efficiency import Mean
from data.history.columns import RATE_METRICS, RATIO_METRICS
from data.history.jobs_columns import JOBS_SCHEMA
from data.history.measure.identity import AccountPaths, identity
from data.history.measure.profiles import profile_column
from data.history.measure.usage_rows import usage_table as usage_table
from data.history.measure.use import AttemptUse
from data.model import Job
from data.report import GpuUse, JobReport

_MEANS = (*RATIO_METRICS, *RATE_METRICS, "gpu_memory_used_bytes", "power_watts")


def jobs_table(uses: Iterable[AttemptUse], *, collected_at: datetime, account_path: AccountPaths) -> pa.Table:
    """One row per ended attempt. `account_path` holds accounts with their parents from the top down.

    Attempts that have not ended, or whose key is not known in full, have no row here.
    """
    ended = [use for use in uses if use.job.end_time is not None and None not in use.job.key]
    rows = [job_row(use, collected_at, account_path) for use in ended]
    columns = [
        profile_column([use.profile for use in ended], field.type)
        if field.name == "profile"
        else pa.array([row.get(field.name) for row in rows], field.type)
        for field in JOBS_SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=JOBS_SCHEMA)


def job_row(use: AttemptUse, collected_at: datetime, account_path: AccountPaths) -> dict[str, Any]:
    """The row of one attempt by column name, all but its profile."""
    report = use.report
    return {
        **identity(use, collected_at, account_path),
        **_times(report),
        **_held(report.job),
        **_host(report),
        **_gpu(use),
        **_means(report),
        **_shape(use),
        "findings": list(use.findings),
        "flags": list(use.flags),
        "devices": [_device(use, place, gpu) for place, gpu in enumerate(report.gpus) if gpu.is_allocated],
    }


def _times(report: JobReport) -> dict[str, Any]:
    job = report.job
    start, end, elapsed = job.start_time, job.end_time, report.elapsed_seconds
    suspended = None
    if start is not None and end is not None and elapsed is not None:
        suspended = max(job.suspended_seconds, (end - start).total_seconds() - elapsed, 0.0)
    limit = job.time_limit_seconds
    return {
        "end_time": end,
        "eligible_time": job.eligible_time,
        "elapsed_seconds": elapsed,
        "suspended_seconds": suspended,
        "time_limit_seconds": None if limit is None or not np.isfinite(limit) else limit,
    }


def _held(job: Job) -> dict[str, Any]:
    code = job.exit_code
    return {
        "partitions": [part for part in job.partition.split(",") if part],
        "array_job_id": job.array_job_id,
        "het_job_id": job.het_job_id,
        "restart_count": job.restart_count,
        "exit_code": code.code if code else None,
        "exit_signal": code.signal if code else None,
        "is_batch": job.is_batch,
        "nodes": list(job.nodes),
        "cores": job.allocated.cpus,
        "memory_allocated_bytes": job.allocated.memory_bytes,
    }


def _host(report: JobReport) -> dict[str, Any]:
    return {
        "cpu_seconds": report.cpu.used,
        "memory_used_bytes": report.memory.used,
        "host_source": str(report.host_source),
    }


def _gpu(use: AttemptUse) -> dict[str, Any]:
    report, hours = use.report, use.report.hours
    given = report.allocated_gpus
    return {
        "gpu_weight": sum(gpu.weight for gpu in given) if report.gpu_count is not None else None,
        "device_hours": report.device_hours,
        "gpu_hours_allocated": hours.allocated if hours else None,
        "gpu_hours_measured": hours.measured if hours else None,
        "gpu_hours_used": hours.used if hours else None,
        "gpu_hours_idle": hours.idle if hours else None,
        "gpu_hours_idle_measured": hours.idle_measured if hours else None,
        "gpus_measured": len(report.measured_gpus),
        "coverage": report.coverage,
        "interval_seconds": report.interval_seconds,
        "join": str(report.join) if report.join else None,
        "utilization": report.utilization.value,
        "gpu_memory_peak_bytes": _largest(given, "gpu_memory_used_bytes"),
        "gpu_memory_total_bytes": _largest(given, "gpu_memory_total_bytes"),
        "energy_joules": sum(use.energy.values()) if use.energy else None,
    }


def _means(report: JobReport) -> dict[str, Any]:
    nothing = Mean(None, 0, None)
    return {name: report.metrics.get(name, nothing).value for name in _MEANS}


def _shape(use: AttemptUse) -> dict[str, Any]:
    shape = use.shape
    idle = [gpu.idle_share for gpu in use.report.measured_gpus if gpu.idle_share is not None]
    return {
        "utilization_p05": shape.p05 if shape else None,
        "utilization_p50": shape.p50 if shape else None,
        "utilization_p95": shape.p95 if shape else None,
        "low_share": shape.low_share if shape else None,
        "high_share": shape.high_share if shape else None,
        "idle_share": sum(idle) / len(idle) if idle else None,
        "idle_longest_seconds": shape.idle_longest_seconds if shape else None,
        "idle_start_seconds": shape.idle_start_seconds if shape else None,
        "idle_end_seconds": shape.idle_end_seconds if shape else None,
    }


def _device(use: AttemptUse, place: int, gpu: GpuUse) -> dict[str, Any]:
    device = gpu.device
    return {
        "node": gpu.node,
        "index": device.index if device else None,
        "uuid": device.uuid if device else None,
        "slice_id": device.slice_id if device else None,
        "slice_profile": device.slice_profile if device else None,
        "model": (device.model if device else None) or gpu.model_name,
        "weight": gpu.weight,
        "coverage": gpu.coverage,
        "idle_share": gpu.idle_share,
        "is_shared": gpu.is_shared,
        "gpu_memory_peak_bytes": gpu.maximum("gpu_memory_used_bytes"),
        "gpu_memory_total_bytes": gpu.maximum("gpu_memory_total_bytes"),
        "energy_joules": use.energy.get(place),
        **{name: gpu.mean(name) for name in _MEANS},
    }


def _largest(gpus: Sequence[GpuUse], metric: str) -> float | None:
    return max((value for gpu in gpus if (value := gpu.maximum(metric)) is not None), default=None)
