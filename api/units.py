"""The unit of every number in an answer, by the name of its field. A field without one is refused."""

from __future__ import annotations

from data.metrics.registry import METRICS
from data.queries.history import COLUMNS

BY_METRIC = "that of the metric; see the reference of metrics"
BY_COLUMN = "that of the column; see the reference of reports"
UNLIMITED = "unlimited"

# Fields that may be without end; JSON has no such number.
ENDLESS = {("Job", "time_limit_seconds")}

# By the end of the name, the longest first.
_ENDS = {
    "_seconds": "seconds",
    "_bytes": "bytes",
    "_watts": "watts",
    "_celsius": "celsius",
    "_hours": "GPU-hours",
    "_hours_window": "GPU-hours",
    "_hours_total": "GPU-hours",
    "_share": "ratio",
    "coverage": "ratio",
    "utilization": "ratio",
    "_id": "id",
    "_ids": "id",
    "index": "index",
    "_indices": "index",
}
_WHOLE = {
    "count": (
        "allocated_cpus array_task_count broken_rows cards cores count cpus damaged_files devices_allocated"
        " devices_idle devices_low devices_measured gpu_count gpu_weight gpus gpus_allocated gpus_idle gpus_measured"
        " gpus_requested groups held_devices jobs limit low_jobs nodes offset pending power_cards requests_unknown"
        " restart_count running running_gpu_jobs running_jobs samples shards shared steps_taken suspended"
        " total uncovered utilization_devices"
    ),
    "number": "account_level code level priority signal",
    "index": "het_offset indices minor sockets",
    "ratio": "threshold weight",
    "load": "cpu_load",
    "billing units": "billing",
    "GPU-hours": "gpu_hours gpu_hours_held hours wasted_gpu_hours device_hours",
}


def _all_of(owner: str, unit: str, *names: str) -> dict[tuple[str, str], str]:
    return {(owner, name): unit for name in names}


_BY_NAME = {name: unit for unit, names in _WHOLE.items() for name in names.split()}
_BY_FIELD = {
    **_all_of("Counts", "count", "busy", "idle", "unmeasured", "unknown", "free", "drained", "down", "elsewhere"),
    **_all_of("GpuHours", "GPU-hours", "allocated", "measured", "used", "idle", "idle_measured"),
    **_all_of("MetricUse", BY_METRIC, "mean", "minimum", "maximum", "total"),
    **_all_of("Mean", BY_METRIC, "value", "low", "high"),
    ("Mean", "measured"): "count",
    ("Mean", "total"): "count",
    ("Verdict", "mean"): "ratio",
    ("Cell", "value"): BY_METRIC,
    ("Gpu", "values"): BY_METRIC,
    ("DeviceSeries", "times"): "seconds since the begin of the window",
    ("DeviceSeries", "idle"): "seconds since the begin of the window",
    ("DeviceSeries", "values"): BY_METRIC,
    ("Share", "used"): "the same as given: bytes, seconds or core-seconds",
    ("Share", "given"): "bytes, seconds or core-seconds",
    ("Judgement", "limit"): "that of what is judged",
    ("Between", "low"): "ratio (utilization) or GiB (gpu_memory_gib)",
    ("Between", "high"): "ratio (utilization) or GiB (gpu_memory_gib)",
    ("ReportRow", "values"): BY_COLUMN,
    ("ReportRow", "previous"): BY_COLUMN,
    ("ReportRow", "about"): "count (gpus) or seconds (elapsed_seconds)",
    ("MetricsRow", "models"): "GPU-hours",
    ("SourceState", "dropped_values"): "count",
    ("GpuPool", "used"): "count",
    ("Gres", "shared"): "count",
    ("Totals", "nodes_by_state"): "count",
    ("Totals", "by_state"): "count",
    ("Tres", "gpus_by_type"): "count",
    ("VerdictList", "counts"): "count",
}


def unit_of(owner: str, field: str) -> str:
    """The unit of a number (or of numbers in a list or table) in the field of a type; KeyError where none is known."""
    named = _BY_FIELD.get((owner, field)) or _BY_NAME.get(field)
    if named is None:
        if field in METRICS:
            return METRICS[field].unit
        if field in COLUMNS:
            return COLUMNS[field].unit or "count"
        named = next((unit for end, unit in sorted(_ENDS.items(), key=_longest) if field.endswith(end)), None)
    if named is None:
        raise KeyError(f"{owner}.{field} has no unit: name it so that it says one, or add it to api/units.py")
    return named


def _longest(end: tuple[str, str]) -> int:
    return -len(end[0])
