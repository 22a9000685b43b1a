"""A job's report as JSON: what it was given, what it used, what to change. Pure."""

from __future__ import annotations

from typing import Any

from chat.tools.answer import listed, moment, number, text, texts
from chat.tools.forms import hours_form, job_facts, metric_values
from data.efficiency import Judgement
from data.findings import Finding
from data.model import Job
from data.queries.job_report import JobAnswer
from data.report import GpuUse, JobReport

# Beside utilization and memory; the other metrics are told of the job as a whole.
_OF_EACH_DEVICE = ("sm_activity", "tensor_activity", "power_watts")


def report_form(found: JobAnswer, *, short: bool = False) -> dict[str, Any]:
    """The report and its findings; `short` leaves out devices, lines and earlier attempts."""
    report = found.report
    made = {
        "as_of_at": moment(report.at),
        **job_facts(report.job),
        **_given(report),
        **_used(report),
        "judged": {name: _judged(one) for name, one in report.judgements.items()},
        "findings": listed(found.findings, lambda one: _finding(one, short=short), 12),
        "faults": texts(report.faults),
        "notes": texts((*report.notes, *found.unknown)),
    }
    if short:
        return made
    return made | {
        "comment": text(report.job.comment),
        "admin_comment": text(report.job.admin_comment),
        "devices": listed(report.gpus, _device, 16),
        "attempts_before": listed(found.attempts, _attempt, 5),
    }


def _given(report: JobReport) -> dict[str, Any]:
    job = report.job
    held = job.allocated if job.start_time is not None else job.requested
    return {
        "elapsed_seconds": number(report.elapsed_seconds),
        "wait_seconds": number(_wait(job)),
        "gpus": report.gpu_count if job.start_time is not None else job.requested.gpus,
        "cpus": held.cpus,
        "memory_given_bytes": number(report.memory.given or held.memory_bytes),
        "exit_code": job.exit_code.code if job.exit_code else None,
    }


def _wait(job: Job) -> float | None:
    since = job.eligible_time or job.submit_time
    if since is None or job.start_time is None:
        return None
    return max(0.0, (job.start_time - since).total_seconds())


def _used(report: JobReport) -> dict[str, Any]:
    """Means over devices, with the number of them that were measured; shares of what was given."""
    return {
        "measured_by": report.gpu_source.value,
        "gpu_utilization_ratio": number(report.utilization.value),
        "gpus_measured": report.utilization.measured,
        "least_device_coverage_ratio": number(report.coverage),
        "gpu_memory_ratio": number(report.gpu_memory.countable),
        "gpu_memory_peak_bytes": number(report.gpu_memory.used),
        "gpu_memory_of_bytes": number(report.gpu_memory.given),
        "cpu_ratio": number(report.cpu.countable),
        "memory_ratio": number(report.memory.countable),
        "memory_peak_bytes": number(report.memory.used),
        "time_limit_used_ratio": number(report.time.value),
        **hours_form(report.hours),
        "metrics": metric_values({name: mean.value for name, mean in report.metrics.items() if name != "xid"}),
    }


def _judged(one: Judgement) -> dict[str, Any]:
    return {"level": one.level.value, "limit_ratio": number(one.limit), "why": one.reason or None}


def _finding(one: Finding, *, short: bool) -> dict[str, Any]:
    made = {
        "finding": one.id,
        "severity": one.severity.value,
        "title": text(one.title, 300),
        "evidence": text(one.evidence, 500),
        "advice": text(one.advice, 500),
        "cost_gpu_hours": number(one.gpu_hours),
    }
    return made if short else made | {"sbatch_lines": texts(one.sbatch, 12)}


def _device(gpu: GpuUse) -> dict[str, Any]:
    return {
        "device": gpu.label,
        "node": gpu.node,
        "model": gpu.model.name if gpu.model else gpu.model_name,
        "utilization_ratio": number(gpu.utilization),
        "idle_samples_ratio": number(gpu.idle_share),
        "coverage_ratio": number(gpu.coverage),
        "gpu_memory_peak_bytes": number(gpu.memory.used),
        "is_shared": gpu.is_shared,
        **metric_values({name: gpu.mean(name) for name in _OF_EACH_DEVICE}),
    }


def _attempt(job: Job) -> dict[str, Any]:
    return {
        "state": job.state,
        "started_at": moment(job.start_time),
        "ended_at": moment(job.end_time),
        "elapsed_seconds": number(job.elapsed_seconds),
    }
