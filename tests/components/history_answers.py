"""Answers of history made by hand: 28 days, seven users, a heat map with much of its hours in one corner."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from data.efficiency.hours import GpuHours
from data.queries.history import (
    Between,
    FindingRow,
    Group,
    HeatCell,
    HeatMap,
    HistoryState,
    HoursByUtilization,
    Report,
    ReportQuery,
    ReportRow,
    Standing,
    Trend,
    UserHistory,
    UtilizationBin,
    WeekHours,
)

SINCE, UNTIL = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 29, tzinfo=UTC)
STATE = HistoryState(date(2026, 8, 31), date(2026, 11, 28), UNTIL)
# name, allocated, used %, idle GPU-hours, idle % before
PEOPLE = (
    ("hnguyen", 16902.0, 0.64, 3549.0, 0.146),
    ("psingh", 4310.0, 0.12, 2629.0, 0.591),
    ("amara", 9406.0, 0.31, 2446.0, 0.228),
    ("jokafor", 8122.0, 0.58, 1381.0, 0.218),
    ("bchen", 18240.0, 0.71, 1094.0, 0.071),
    ("efraser", 11840.0, 0.77, 592.0, 0.07),
    ("ssilva", 14377.0, 0.82, 575.0, 0.046),
)


def values(allocated: float, used: float | None = 0.58, idle: float | None = None, **more: Any) -> dict[str, Any]:
    """The columns of a row of which 97 % are measured; `used` is a share of the allocated hours."""
    measured = allocated * 0.97 if used is not None else 0.0
    known = (
        {} if used is None else {"gpu_hours_used": allocated * used, "gpu_hours_wasted": measured - allocated * used}
    )
    return {
        "jobs": max(1, round(allocated / 14)),
        "gpu_hours_allocated": allocated,
        "gpu_hours_measured": measured,
        "gpu_hours_not_measured": allocated - measured,
        "gpu_hours_idle": idle,
        "gpu_hours_idle_measured": measured if idle is not None else 0.0,
        "utilization": None if used is None else used / 0.97,
        "coverage": measured / allocated if allocated else None,
        "wait_p50_seconds": 660.0,
        "wait_p90_seconds": 7200.0,
        "device_hours": allocated,
        "energy_kwh": allocated * 0.31,
        **known,
        **more,
    }


def row(
    name: str | None, allocated: float, used: float | None, idle: float | None, before: float | None = None
) -> ReportRow:
    """A row with its time before, where `before` gives the share of idle hours then."""
    earlier = None if before is None else values(allocated * 0.96, used, allocated * 0.96 * before)
    return ReportRow(name, name or "none", values(allocated, used, idle), earlier)


def people_report(query: ReportQuery) -> Report:
    """By user, or the same numbers under other names."""
    rows = tuple(row(*one) for one in PEOPLE)
    if query.by is Group.JOB:
        about = {"user": "hnguyen", "state": "COMPLETED", "name": "train.sh"}
        rows = tuple(
            ReportRow(str(48000 + at), str(48000 + at), one.values, about=about) for at, one in enumerate(rows)
        )
    rows = () if query.by is Group.NONE else rows[: query.limit]
    total = ReportRow(None, "All", values(198412.0, 0.583, 23412.6), values(190415.0, 0.562, 26086.0))
    return Report(query, rows, total, 41 if rows else 0, (), STATE, before=STATE)


def trend(step: str = "day") -> Trend:
    """28 days with quiet weekends and one day of which little was measured."""
    points = []
    for at in range(28):
        allocated = 7300.0 - (1300 if (at + 6) % 7 > 4 else 0) + 37 * (at % 5)
        share = 0.55 if at == 17 else 0.97
        measured = allocated * share
        points.append(
            (SINCE + timedelta(days=at), GpuHours(allocated, measured, measured * 0.6, measured * 0.12, measured))
        )
    total = sum((hours for _, hours in points), GpuHours(0.0))
    return Trend(step, tuple(points), total, STATE)


def heat_map() -> HeatMap:
    """Ten by ten cells; most hours are busy, and many are in the corner of idle and small jobs."""
    cells = []
    for column in range(10):
        for up in range(10):
            hours = 60.0 * column * (10 - abs(6 - up)) + (4500 if column < 2 and up < 2 else 0)
            high = None if up == 9 else (up + 1) * 8.0
            cells.append(HeatCell(Between(column / 10, (column + 1) / 10), Between(up * 8.0, high), 1 + column, hours))
    edges = tuple(column / 10 for column in range(11))
    return HeatMap(
        tuple(cells), edges, tuple(up * 8.0 for up in range(10)), sum(one.gpu_hours for one in cells), 5200.0
    )


def bins() -> HoursByUtilization:
    """Twenty bars."""
    found = tuple(
        UtilizationBin(at / 20, (at + 1) / 20, 40 + at, 2000.0 + 700 * at + (9000 if at < 2 else 0)) for at in range(20)
    )
    return HoursByUtilization(found, 5500.0, STATE)


def week_hours() -> WeekHours:
    """Four of each hour, less at night and on Sunday."""
    spans = {(day, hour): 4 for day in range(7) for hour in range(24)}
    hours = {}
    for day, hour in spans:
        allocated = 4 * (180.0 + (70 if 8 <= hour < 20 else 0) - 25 * (day > 4))
        hours[(day, hour)] = GpuHours(
            allocated, allocated, allocated * 0.6, allocated * (0.05 if 8 <= hour < 20 else 0.2), allocated
        )
    return WeekHours(hours, spans, STATE)


def findings() -> tuple[FindingRow, ...]:
    """Two findings with a job each."""
    example = ReportRow(
        "48211", "48211", values(96.0, 0.2, 40.0), about={"user": "amara", "name": "sweep", "state": "COMPLETED"}
    )
    return (
        FindingRow("unbalanced", 31, 2210.0, 1400.0, (example,)),
        FindingRow("small kernels", 4, 310.0, 120.0, (example,)),
    )


def user_history(user: str = "amara") -> UserHistory:
    """A user's month."""
    total = row(user, 9406.0, 0.31, 2446.0, 0.228)
    jobs = people_report(ReportQuery(SINCE, UNTIL, by=Group.JOB)).rows
    partitions = (row("gpu", 9000.0, 0.31, 2400.0), row("long", 406.0, None, None))
    return UserHistory(user, total, trend(), partitions, jobs, findings(), Standing(12, 41, 0.32, 0.61, 0.58), STATE)
