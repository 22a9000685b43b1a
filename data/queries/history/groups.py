"""What a report can be grouped by, and which of its columns there are. To add a column, add a row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from data.history.columns import RATIO_METRICS
from data.metrics.registry import METRICS


class Group(StrEnum):
    """`NONE` is one row of all. `DAY` and `WEEK_HOUR` are in the site's time zone."""

    NONE = "none"
    USER = "user"
    ACCOUNT = "account"
    DEPARTMENT = "department"
    PARTITION = "partition"
    QOS = "qos"
    MODEL = "model"
    NODE = "node"
    STATE = "state"
    SIZE = "size"
    DAY = "day"
    WEEK_HOUR = "week_hour"
    JOB = "job"
    APPLICATION = "application"


IN_TIME = frozenset({Group.DAY, Group.WEEK_HOUR})
# A job that is in several groups counts in each, and once in all.
SPLIT = frozenset({Group.NODE, *IN_TIME})
SIZES = ("1", "2-4", "5-8", ">8", "CPU only")
SIZE_UNKNOWN = "not known"
FAILED_STATES = ("BOOT_FAIL", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY")
GROUP_LABELS = {
    Group.NONE: "All",
    Group.USER: "User",
    Group.ACCOUNT: "Account",
    Group.DEPARTMENT: "Department",
    Group.PARTITION: "Partition",
    Group.QOS: "QOS",
    Group.MODEL: "GPU model",
    Group.NODE: "Node",
    Group.STATE: "State",
    Group.SIZE: "GPUs per job",
    Group.DAY: "Day",
    Group.WEEK_HOUR: "Weekday and hour",
    Group.JOB: "Job",
    Group.APPLICATION: "Application",
}


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """`unit` is that of the value inside: "ratio" is 0..1, "GPU-hours", "seconds", "" for counts.

    `coverage` names the column that says on which share of the allocated GPU-hours the value rests.
    """

    name: str
    label: str
    unit: str
    help: str
    coverage: str = ""


def _mean(name: str) -> tuple[ReportColumn, ReportColumn]:
    metric = METRICS[name]
    share = f"{name}_coverage"
    return (
        ReportColumn(name, metric.label, "ratio", f"{metric.help} Mean over its own measured GPU-hours.", share),
        ReportColumn(share, f"{metric.label} coverage", "ratio", f"Share of the GPU-hours with {metric.label}."),
    )


_ROWS = (
    ReportColumn("jobs", "Jobs", "", "Attempts of jobs that ran in the range; a requeued job counts once per attempt."),
    ReportColumn(
        "gpu_hours_allocated",
        "GPU-hours",
        "GPU-hours",
        "Allocated devices x hours inside the range, slices by weight, suspended time left out.",
    ),
    ReportColumn("share", "Share", "ratio", "Part of the allocated GPU-hours of the whole report."),
    ReportColumn("gpu_hours_measured", "Measured", "GPU-hours", "The part that was measured."),
    ReportColumn("gpu_hours_used", "Used", "GPU-hours", "Utilization x measured hours.", "coverage"),
    ReportColumn(
        "gpu_hours_partly_used",
        "Partly used",
        "GPU-hours",
        "Unused part of the hours in which the GPU did work: wasted minus idle.",
        "idle_coverage",
    ),
    ReportColumn("gpu_hours_idle", "Idle", "GPU-hours", "Hours of idle samples.", "idle_coverage"),
    ReportColumn(
        "gpu_hours_idle_measured", "Idle known", "GPU-hours", "Measured GPU-hours of which idleness is known."
    ),
    ReportColumn("gpu_hours_not_measured", "Not measured", "GPU-hours", "Allocated minus measured."),
    ReportColumn("gpu_hours_wasted", "Wasted", "GPU-hours", "Measured minus used.", "coverage"),
    ReportColumn("device_hours", "Device-hours", "GPU-hours", "As Slurm counts them; this column ties to sreport."),
    ReportColumn("utilization", "UTIL", "ratio", "Used by measured GPU-hours (GR on slices).", "coverage"),
    ReportColumn("coverage", "Coverage", "ratio", "Measured by allocated GPU-hours."),
    ReportColumn("idle_coverage", "Idle coverage", "ratio", "Share of measured GPU-hours of which idleness is known."),
    *(column for name in RATIO_METRICS for column in _mean(name)),
    ReportColumn(
        "cpu_efficiency", "CPU", "ratio", "CPU time by cores x time, of jobs of which it is known.", "cpu_coverage"
    ),
    ReportColumn("cpu_coverage", "CPU coverage", "ratio", "Share of the core-hours of which CPU time is known."),
    ReportColumn(
        "memory_efficiency",
        "Memory",
        "ratio",
        "Peak host memory by the memory given, weighted by what was given; finished jobs only.",
        "memory_coverage",
    ),
    ReportColumn("memory_coverage", "Memory coverage", "ratio", "Share of the jobs of which it is known."),
    ReportColumn("wait_p50_seconds", "Wait p50", "seconds", "Median wait, from eligible to start, of jobs that began."),
    ReportColumn("wait_p90_seconds", "Wait p90", "seconds", "90th percentile of the same."),
    ReportColumn("waits", "Waits", "", "Jobs that began in the range and of which the wait is known."),
    ReportColumn(
        "failed_share",
        "Failed",
        "ratio",
        "GPU-hours of jobs that ended FAILED, OUT_OF_MEMORY, NODE_FAIL, BOOT_FAIL or LAUNCH_FAILED, by all.",
    ),
    ReportColumn("cost", "Cost", "currency", "GPU-hours x the rate of their model.", "cost_coverage"),
    ReportColumn("cost_coverage", "Cost coverage", "ratio", "Share of the GPU-hours of which a rate is known."),
    ReportColumn("energy_kwh", "Energy", "kWh", "Energy of the cards.", "energy_coverage"),
    ReportColumn("energy_coverage", "Energy coverage", "ratio", "Share of the GPU-hours of which energy is known."),
    ReportColumn("jobs_without_gpu_count", "GPUs unknown", "", "Jobs of which the number of GPUs is not known."),
    ReportColumn("jobs_apportioned", "Apportioned", "", "Jobs whose part inside the range is an even share."),
    ReportColumn(
        "gpu_memory_used_bytes",
        "GPU MEM",
        "bytes",
        f"{METRICS['gpu_memory_used_bytes'].help} Mean per device.",
        "gpu_memory_used_coverage",
    ),
    ReportColumn("gpu_memory_used_coverage", "GPU MEM coverage", "ratio", "Share of the GPU-hours with GPU MEM."),
)
COLUMNS: dict[str, ReportColumn] = {row.name: row for row in _ROWS}

_DETAILS = frozenset(RATIO_METRICS) - {"sm_activity", "tensor_activity"}
DEFAULT_COLUMNS = tuple(
    name
    for name in COLUMNS
    if name.removesuffix("_coverage") not in _DETAILS and not name.startswith(("gpu_memory_used", "gpu_hours_idle_"))
)
