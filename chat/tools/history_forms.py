"""Rows of reports over history as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from chat.tools.answer import listed, moment, number, text, texts
from data.efficiency import GpuHours
from data.queries.history import COLUMNS, FindingRow, HistoryState, Report, ReportRow, Trend, WaitRow
from data.queries.history.model import Value

_ENDS = {"ratio": "_ratio", "seconds": "_seconds", "bytes": "_bytes", "kWh": "_kwh", "currency": "_amount"}
_ALL = "All"
_COMPARED = ("allocated_gpu_hours", "used_gpu_hours", "wasted_gpu_hours", "utilization_ratio")
# The most days of a trend by day; more are told by week.
MOST_DAYS = 31


def column_key(name: str) -> str:
    """The name of a column with its unit at the end: gpu_hours_used is used_gpu_hours."""
    unit = COLUMNS[name].unit
    if unit == "GPU-hours":
        return f"{name.removeprefix('gpu_hours_').removesuffix('_hours')}_gpu_hours"
    end = _ENDS.get(unit, "")
    return name if name.endswith(end) else f"{name}{end}"


def values_form(values: Mapping[str, Value], columns: Iterable[str] | None = None) -> dict[str, Any]:
    wanted = values if columns is None else [name for name in columns if name in values]
    return {column_key(name): number(values[name]) for name in wanted}


def row_form(row: ReportRow, columns: Iterable[str] | None = None, group: str = "name") -> dict[str, Any]:
    """A row under the name of its group (user, partition, job ...); None = those without one."""
    made: dict[str, Any] = {group: text(row.label) if row.key is not None or row.label == _ALL else None}
    if group == "job":
        made |= _about(row)
    if row.level is not None:
        made |= {"level": row.level, "parent": row.parent}
    made |= values_form(row.values, columns)
    if row.previous is not None:
        before = values_form(row.previous, columns)
        made["time_before"] = {
            key: before[key] for key in ("allocated_gpu_hours", "utilization_ratio") if key in before
        }
    return made


def _about(row: ReportRow) -> dict[str, Any]:
    about = row.about
    return {
        "job_name": text(str(about.get("name") or ""), 80) or None,
        **{name: about.get(name) for name in ("user", "account", "partition", "state")},
        "gpus": about.get("gpu_count"),
        "model": about.get("gpu_model"),
    }


def span_form(report: Report) -> dict[str, Any]:
    return {
        "from_at": moment(report.query.since),
        "until_at": moment(report.query.until),
        **state_form(report.state),
        **({"currency": report.currency} if "cost" in report.query.columns else {}),
    }


def state_form(state: HistoryState) -> dict[str, Any]:
    """What the answer stands on; `is_empty` = no history at all, which is not zero use."""
    return {
        "history_is_empty": state.is_empty,
        "collected_at": moment(state.collected_at),
        "files_damaged": state.damaged_files,
        "notes": texts(state.notes),
    }


def wait_form(row: WaitRow) -> dict[str, Any]:
    return {
        "gpus_of_job": row.size or "all",
        "jobs": row.jobs,
        "wait_p50_seconds": number(row.p50_seconds),
        "wait_p90_seconds": number(row.p90_seconds),
    }


def finding_form(row: FindingRow) -> dict[str, Any]:
    return {
        "finding": row.id,
        "jobs_with_it": row.jobs,
        "allocated_gpu_hours": number(row.gpu_hours),
        "wasted_gpu_hours": number(row.gpu_hours_wasted),
        "example_jobs": [text(one.label) for one in row.examples[:3]],
    }


def trend_form(trend: Trend) -> dict[str, Any]:
    """By day, or by week where the days are many."""
    points = trend.points if len(trend.points) <= MOST_DAYS else _weeks(trend)
    return {
        "step": trend.step if points is trend.points else "7 days",
        **listed(points, _point, MOST_DAYS + 20),
    }


def _point(one: tuple[datetime, GpuHours]) -> dict[str, Any]:
    begin, hours = one
    return {
        "begins_at": moment(begin),
        "allocated_gpu_hours": number(hours.allocated),
        "wasted_gpu_hours": number(hours.wasted),
        "utilization_ratio": number(hours.utilization),
        "coverage_ratio": number(hours.coverage),
    }


def _weeks(trend: Trend) -> tuple[tuple[datetime, GpuHours], ...]:
    days = trend.points
    parts = [days[at : at + 7] for at in range(0, len(days), 7)]
    return tuple((part[0][0], sum((one[1] for one in part[1:]), part[0][1])) for part in parts)
