"""`fullwarp metrics` on screen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from rich.console import RenderableType

from data.efficiency.coverage import PARTLY_MEASURED
from data.queries.metrics import COLUMNS, Group, MetricsRow, MetricsTable
from data.queries.metrics.columns import GAP, UTILIZATION
from data.words import GIB, MINUS, clock, count, number
from terminal.tables import ABSENT, Column, line, table

MOST_ADVICE = 5
LEAST_SHARE = 0.1
_NARROW = (UTILIZATION, "sm_activity", GAP, "tensor_activity")
_GIGA = 1e9
_TITLES = {"gpu_memory_used_bytes": "MEM GiB", "power_watts": "W", "nvlink_bytes_per_second": "NVLINK GB/s"}
_TITLES |= {"pcie_bytes_per_second": "PCIE GB/s"}


def metric_lines(found: MetricsTable, zone: tzinfo, width: int, limit: int) -> Iterator[RenderableType]:
    """One line per row, then the advice for what costs most. Shares in percent, the gap in points."""
    off = {one.column for one in found.not_exported}
    yield table(_columns(found.group, off), (_row(row, found, off) for row in found.rows[:limit]), width)
    span = f"{clock(found.since, zone, found.until)} to {clock(found.until, zone, found.until)}"
    rows = f"{number(min(limit, len(found.rows)))} of {number(len(found.rows))} rows"
    total = f"{number(found.total.hours.allocated, 1)} GPU-hours of {count(found.total.jobs, 'job')}"
    yield line(f"{rows}, {total}, {span} {found.until.astimezone(zone):%Z}; means weighted by measured GPU-hours")
    yield from _notes(found)
    for use in found.findings[:MOST_ADVICE]:
        words = found.advice[use.id]
        yield line(
            (f"{words.name}: ", "bold"), f"{_hours(use.gpu_hours)} GPU-hours, {count(use.jobs, 'job')}. ", words.advice
        )


def _notes(found: MetricsTable) -> Iterator[RenderableType]:
    if any(row.utilization_metric in ("mixed", "graphics_engine_activity") for row in found.rows):
        yield line("g: GR in place of UTIL, on MIG slices; ~: measured for less than 80 % of the GPU-hours")
    for one in found.not_exported:
        yield line((f"{COLUMNS[one.column].label} is not exported at this site. ", "yellow"), " ".join(one.lines))
    for text in found.unknown:
        yield line(("Not known: ", "yellow"), text)


def _columns(group: Group, off: set[str]) -> tuple[Column, ...]:
    names = [
        Column(_TITLES.get(name, one.label), True, name not in _NARROW)
        for name, one in COLUMNS.items()
        if name not in off
    ]
    return (
        Column(group.value.upper()),
        *([Column("USER")] if group is Group.JOB else []),
        Column("JOBS" if group is not Group.JOB else "NAME", group is not Group.JOB, True),
        Column("GPU-H", True),
        *names,
        Column("COVER", True, True),
        Column("FINDING"),
    )


def _row(row: MetricsRow, found: MetricsTable, off: set[str]) -> tuple[str, ...]:
    is_job = found.group is Group.JOB
    coverage = row.hours.coverage
    chips = [found.advice[use.id].name for use in row.findings if use.gpu_hours >= LEAST_SHARE * row.hours.measured]
    return (
        row.key,
        *([row.user or ""] if is_job else []),
        row.job_name or "" if is_job else number(row.jobs),
        _hours(row.hours.allocated),
        *(_cell(row, name) for name in COLUMNS if name not in off),
        "" if coverage is None else number(min(1.0, coverage) * 100),
        ", ".join(chips),
    )


def _hours(hours: float) -> str:
    return number(hours, 1 if 0 < hours < 99.95 else 0)


def _cell(row: MetricsRow, name: str) -> str:
    cell = row.cells.get(name)
    if cell is None:
        return ABSENT
    unit = COLUMNS[name].unit
    scale = {"ratio": 100.0, "bytes": 1 / GIB, "bytes/s": 1 / _GIGA}.get(unit, 1.0)
    value = cell.value * scale
    text = number(value, 1 if unit != "watts" and 0 < abs(value) < 9.95 else 0).replace(MINUS, "-")
    thin = "~" if cell.hours < PARTLY_MEASURED * row.hours.allocated else ""
    is_gr = name == UTILIZATION and row.utilization_metric in ("mixed", "graphics_engine_activity")
    return text + ("g" if is_gr else "") + thin
