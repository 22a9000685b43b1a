"""The detailed table as the browser draws it: plain values, None = not measured. One place for units and links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from components.metric_values import shown
from data.metrics.registry import Metric
from data.queries.metrics import COLUMNS, Group, MetricsRow, MetricsTable
from data.queries.metrics.columns import GAP, UTILIZATION, MetricColumn
from data.words import count
from settings import FindingLimits

MOST_ROWS = 2_000
LEAST_SHARE = 0.1  # a finding below this share of a row's measured hours is told only when the row is unfolded
_TITLES = {
    Group.JOB: ("Job", "user, model"),
    Group.USER: ("User", "account, models"),
    Group.ACCOUNT: ("Account", "models"),
    Group.PARTITION: ("Partition", "models"),
    Group.MODEL: ("GPU model", "jobs"),
    Group.APPLICATION: ("Application", "user, models"),
}
_FILTERS = {
    Group.USER: "user",
    Group.ACCOUNT: "account",
    Group.PARTITION: "partition",
    Group.MODEL: "model",
    Group.APPLICATION: "application",
}
_VIEW = frozenset({"sort", "row", "finding"})  # how the answer is looked at, no part of the question
_SHORT = {"graphics_engine_activity": "GR", "mixed": "part GR"}


@dataclass(frozen=True, slots=True)
class PayloadContext:
    """`base` is the app's prefix, `query` the question as it stands in the address, for links to parts of it."""

    base: str
    query: Mapping[str, str]
    limits: FindingLimits


def metrics_payload(table: MetricsTable, context: PayloadContext) -> dict[str, Any]:
    """What the browser draws table and scatter from. Ratios are percent, memory GiB, links GB/s, power W."""
    off = {one.column for one in table.not_exported}
    largest = sorted(table.rows, key=lambda row: -row.hours.allocated)[:MOST_ROWS]
    kept = {id(row) for row in largest}
    title, under = _TITLES[table.group]
    limits = context.limits
    return {
        "question": urlencode({name: value for name, value in context.query.items() if name not in _VIEW}),
        "group": table.group.value,
        "title": title,
        "under": under,
        "noun": noun(table.group, len(table.rows)),
        "count": len(table.rows),
        "columns": [_column(column, column.name in off, table.rows) for column in COLUMNS.values()],
        "rows": [_row(row, table, context) for row in table.rows if id(row) in kept],
        "total": _row(table.total, table, context) if table.rows else None,
        "advice": {key: [one.name, one.when, one.advice] for key, one in table.advice.items()},
        "region": [_points(limits.busy_utilization), _points(limits.small_kernels_sm)],
    }


def noun(group: Group, amount: int) -> str:
    """ "job", "GPU models"."""
    singular = "GPU model" if group is Group.MODEL else group.value
    return singular if amount == 1 else f"{singular}s"


def _points(ratio: float) -> float:
    return round(ratio * 100, 1)


def _column(column: MetricColumn, is_off: bool, rows: Iterable[MetricsRow]) -> dict[str, Any]:
    is_ratio = column.unit == "ratio"
    unit = "points" if column.name == GAP else shown(Metric("", "", column.unit, "")).unit
    most = 100.0 if is_ratio else max((_value(column.name, row) or 0.0 for row in rows), default=0.0)
    return {
        "name": column.name,
        "label": column.label,
        "unit": unit,
        "help": column.help,
        "kind": "gap" if column.name == GAP else "ratio" if is_ratio else "amount",
        "most": most,
        "off": is_off,
    }


def _value(name: str, row: MetricsRow) -> float | None:
    """The value in the unit of the head, finer than it is shown so that it sorts right."""
    value = row.value(name)
    factor = shown(Metric("", "", COLUMNS[name].unit, "")).factor
    return None if value is None else round(value * factor, 3)


def _row(row: MetricsRow, table: MetricsTable, context: PayloadContext) -> dict[str, Any]:
    measured = row.hours.measured
    return {
        "key": row.key,
        "name": row.job_name or row.name if table.group is Group.JOB else row.name,
        "id": row.name if table.group is Group.JOB else "",
        "under": _under(row, table.group),
        "href": _href(row, table.group, context.base),
        "inside": _inside(row, table.group, context),
        "hours": round(row.hours.allocated, 4),
        "jobs": row.jobs,
        "running": row.running,
        "coverage": None if row.hours.coverage is None else round(row.hours.coverage * 100, 1),
        "values": [_value(name, row) for name in COLUMNS],
        "shares": [_share(row, name) for name in COLUMNS],
        "metric": _SHORT.get(row.utilization_metric or "", ""),
        "findings": [[use.id, round(use.gpu_hours, 3), use.jobs] for use in row.findings],
        "chips": [use.id for use in row.findings if measured and use.gpu_hours >= LEAST_SHARE * measured],
        "models": [[name, round(hours, 3)] for name, hours in row.models],
        "parts": [_hours(part) for part in (row.hours.used, row.hours.partly_used, row.hours.idle)],
        "notes": _notes(row),
    }


def _share(row: MetricsRow, name: str) -> float | None:
    """Percent of the row's GPU-hours in which a column was measured."""
    cell = row.cells.get(name)
    return round(cell.hours / row.hours.allocated * 100, 1) if cell and row.hours.allocated > 0 else None


def _hours(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 3)


def _under(row: MetricsRow, group: Group) -> str:
    models = [name for name, _ in row.models]
    listed = ", ".join(models[:2]) + (f" and {len(models) - 2} more" if len(models) > 2 else "")
    if group is Group.MODEL:
        return count(row.jobs, "job")
    who = {Group.JOB: row.user, Group.USER: row.account, Group.APPLICATION: row.user}.get(group)
    return ", ".join(part for part in (who, listed) if part)


def _href(row: MetricsRow, group: Group, base: str) -> str:
    folder = {Group.JOB: "jobs/", Group.USER: "users/"}.get(group)
    return f"{base}{folder}{quote(row.name, safe='')}" if folder else ""


def _inside(row: MetricsRow, group: Group, context: PayloadContext) -> str:
    """The address of the jobs behind a row."""
    key = _FILTERS.get(group)
    if key is None:
        return ""
    kept = {name: value for name, value in context.query.items() if name != "group" and name not in _VIEW}
    asked = {**kept, "group": Group.JOB.value, key: row.name}
    if len(row.models) == 1 and row.key != row.name:
        asked["model"] = row.models[0][0]
    return f"{context.base}metrics?{urlencode(asked)}"


def _notes(row: MetricsRow) -> list[str]:
    allocated = row.hours.allocated
    parts = (
        (row.estimated_hours, "came to their job by the node alone: an estimate, not judged."),
        (row.shared_hours, "are of GPUs that several jobs used at once: their numbers are of all of them."),
        (row.fault_hours, "are of jobs for which metrics and Slurm disagree: not judged."),
    )
    said = [f"{_percent(hours, allocated)} of the GPU-hours {text}" for hours, text in parts if hours > 0]
    if row.utilization_metric == "graphics_engine_activity":
        said.append("UTIL is GR here: MIG slices have no UTIL of their own.")
    elif row.utilization_metric == "mixed":
        said.append("UTIL is GR for the hours on MIG slices.")
    if UTILIZATION not in row.cells:
        said.append("Nothing was measured.")
    return said


def _percent(part: float, whole: float) -> str:
    return f"{part / whole * 100:.0f} %" if whole > 0 else "All"
