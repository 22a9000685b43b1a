"""Core values as JSON with units in the keys: devices in use, jobs, nodes, sources. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chat.tools.answer import moment, number, text, texts
from data.attention import Attention
from data.efficiency import GpuHours
from data.metrics.registry import METRICS
from data.model import Job, SourceCondition, SourceState, Viewer, Visibility
from data.queries.finished import FinishedRow
from data.queries.jobs import JobRow
from data.totals import Group, Queue
from data.uses import Counts, Use

_BY_UNIT = {
    "ratio": "_ratio",
    "bytes": "_bytes",
    "watts": "_watts",
    "celsius": "_celsius",
    "hertz": "_hertz",
    "bytes/s": "_bytes_per_second",
    "seconds": "_seconds",
    "joules": "_joules",
    "code": "_code",
}


def unit_key(name: str, unit: str) -> str:
    """A name with its unit at the end, where that has one."""
    end = _BY_UNIT.get(unit, "")
    return name if name.endswith(end) else f"{name}{end}"


def metric_key(name: str) -> str:
    """The name of a metric with its unit at the end."""
    return unit_key(name, METRICS[name].unit)


def metric_values(values: Mapping[str, float | None]) -> dict[str, Any]:
    """Metrics by name, those that were measured."""
    known = {name: value for name, value in values.items() if name in METRICS and value is not None}
    return {metric_key(name): _as_shown(name, value) for name, value in known.items()}


def _as_shown(name: str, value: float) -> float | int | None:
    return round(value) if METRICS[name].unit == "code" else number(value)


def use_form(use: Use) -> dict[str, Any]:
    """Devices by state, their mean utilization and power, each with what it rests on."""
    made: dict[str, Any] = {"gpus": _counts(use.gpus)}
    if use.slices.total:
        made["mig_slices"] = _counts(use.slices)
    return made | {
        "utilization_ratio": number(use.utilization),
        "devices_held": use.held_devices,
        "devices_held_and_measured": use.utilization_devices,
        "power_watts": number(use.power_watts),
        "cards": use.cards,
        "cards_with_power_measured": use.power_cards,
    }


def _counts(counts: Counts) -> dict[str, Any]:
    named = {
        "total": counts.total,
        "allocated": counts.allocated,
        "busy": counts.busy,
        "held_and_idle": counts.idle,
        "held_and_not_measured": counts.unmeasured,
        "free": counts.free,
        "drained": counts.drained,
        "down": counts.down,
    }
    rare = {"held_by_other_partitions": counts.elsewhere, "not_known_if_held": counts.unknown}
    return {name: round(value) for name, value in (named | {k: v for k, v in rare.items() if v}).items()}


def queue_form(queue: Queue) -> dict[str, Any]:
    return {
        "jobs_running": queue.running,
        "jobs_suspended": queue.suspended,
        "jobs_pending": queue.pending,
        "gpus_requested_by_pending_jobs": queue.gpus_requested,
        "pending_jobs_without_known_gpus": queue.requests_unknown,
    }


def group_form(group: Group) -> dict[str, Any]:
    return {"name": group.name, "nodes": group.nodes, **use_form(group.use), **queue_form(group.queue)}


def hours_form(hours: GpuHours | None) -> dict[str, Any]:
    """The parts of GPU-hours; measured by allocated is the coverage of all of them."""
    if hours is None:
        return {"allocated_gpu_hours": None, "coverage_ratio": None}
    return {
        "allocated_gpu_hours": number(hours.allocated),
        "measured_gpu_hours": number(hours.measured),
        "used_gpu_hours": number(hours.used),
        "wasted_gpu_hours": number(hours.wasted),
        "idle_gpu_hours": number(hours.idle),
        "coverage_ratio": number(hours.measured / hours.allocated) if hours.allocated > 0 else None,
    }


def job_facts(job: Job) -> dict[str, Any]:
    """Whose the job is, what it is and when it was what."""
    return {
        "job": job.display_id,
        "job_name": text(job.name),
        "user": text(job.user),
        "account": text(job.account),
        "partition": text(job.partition),
        "qos": text(job.qos),
        "state": job.state,
        "submitted_at": moment(job.submit_time),
        "started_at": moment(job.start_time),
        "ended_at": moment(job.end_time),
        "time_limit_seconds": number(job.time_limit_seconds),
        "nodes": texts(job.nodes, 20),
        **({"nodes_total": len(job.nodes)} if job.nodes else {"nodes_requested": job.requested.nodes}),
    }


def job_row(row: JobRow | FinishedRow) -> dict[str, Any]:
    """One line of a list of jobs."""
    job = row.job
    made = {
        "job": job.display_id,
        "job_name": text(job.name, 80),
        "user": text(job.user),
        "account": text(job.account),
        "partition": text(job.partition),
        "state": job.state,
        "gpus": row.gpus,
        "wait_seconds": number(row.wait_seconds),
    }
    if isinstance(row, FinishedRow):
        return made | {
            "utilization_ratio": number(row.utilization),
            "elapsed_seconds": number(job.elapsed_seconds),
            "ended_at": moment(job.end_time),
            "coverage_ratio": number(row.coverage),
        }
    return made | {
        "utilization_now_ratio": number(row.utilization),
        "gpus_measured": row.gpus_measured,
        "gpus_idle_now": row.gpus_idle if row.gpus_measured else None,
        "elapsed_seconds": number(row.elapsed_seconds),
        **({"reason": text(job.reason)} if job.state == "PENDING" else {}),
    }


def attention_form(one: Attention) -> dict[str, Any]:
    return {
        "severity": one.severity.value,
        "kind": one.kind,
        "about": text(one.subject),
        "says": text(one.text),
        "gpus": one.gpus,
        "since_at": moment(one.since),
    }


def scope_form(viewer: Viewer) -> dict[str, Any]:
    """Whose jobs the numbers count: what is true of a user's own must not be told of the cluster."""
    sees_all = viewer.is_staff or viewer.visibility is Visibility.ALL
    return {"counts": "everybody's jobs" if sees_all else "only jobs that the asker may see, not the whole cluster"}


def sources_form(states: Iterable[SourceState]) -> list[dict[str, Any]]:
    """Sources that do not answer as they should; empty = all are well."""
    return [
        {"source": one.name, "condition": one.condition.value, "last_success_at": moment(one.last_success)}
        for one in states
        if one.condition is not SourceCondition.OK
    ]
