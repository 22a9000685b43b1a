"""What is wrong with a row: words that stay with it, so that nobody takes its numbers for more than they are."""

from __future__ import annotations

from data import js1
from data.model import JoinMethod
from data.report import JobReport, UseSource

APPORTIONED = "apportioned"
ESTIMATE = "node estimate"
SHARED = "shared"
DISAGREES = "mapping disagrees"
IMPLAUSIBLE_CPU = "implausible cpu time"
IMPLAUSIBLE_MEMORY = "implausible memory"
IMPLAUSIBLE_SUMMARY = "implausible summary values"
DAMAGED_SUMMARY = "damaged summary"
BACKWARDS = "end before start"
NEGATIVE = "negative elapsed time"
UNKNOWN_WEIGHT = "unknown slice profile"
UNKNOWN_SUSPENSION = "suspended at unknown times"


def flags_of(report: JobReport) -> tuple[str, ...]:
    """Flags of one attempt."""
    job, decoded = report.job, js1.decode(report.job.admin_comment)
    start, end = job.start_time, job.end_time
    is_series = report.gpu_source is UseSource.SERIES
    checks = (
        (APPORTIONED, report.gpu_source in (UseSource.JS1, UseSource.SLURM)),
        (ESTIMATE, report.join is JoinMethod.NODE_ESTIMATE),
        (SHARED, report.is_shared),
        (DISAGREES, bool(report.faults)),
        (IMPLAUSIBLE_CPU, report.cpu.is_implausible),
        (IMPLAUSIBLE_MEMORY, report.memory.is_implausible),
        (IMPLAUSIBLE_SUMMARY, decoded.summary is not None and decoded.summary.dropped > 0),
        (DAMAGED_SUMMARY, decoded.outcome is js1.Outcome.DAMAGED),
        (BACKWARDS, start is not None and end is not None and end < start),
        (NEGATIVE, job.elapsed_seconds is not None and job.elapsed_seconds < 0),
        (UNKNOWN_WEIGHT, any(not gpu.is_weight_known for gpu in report.allocated_gpus)),
        (UNKNOWN_SUSPENSION, is_series and job.suspended_seconds > 0 and report.suspended_share > 0),
    )
    return tuple(flag for flag, holds in checks if holds)
