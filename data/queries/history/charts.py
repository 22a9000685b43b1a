"""History as curves and maps: GPU-hours over time, over utilization and memory, over the hours of a week."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from itertools import pairwise
from typing import Any

from data.efficiency.hours import GpuHours, total_hours
from data.errors import BadRequest
from data.model import Viewer
from data.queries.history.compiled import MARKS
from data.queries.history.grouping import Sums, add, keys_of, raw_group
from data.queries.history.groups import Group
from data.queries.history.measures import HOUR_NAMES
from data.queries.history.model import (
    Between,
    HeatCell,
    HeatMap,
    HoursByUtilization,
    ReportQuery,
    Trend,
    UtilizationBin,
    WeekHours,
)
from data.queries.history.question import Question, ask, hours_of
from data.queries.history.relations import hours_in_time
from data.queries.history.values import hours_of_sums
from data.sources import Sources

GIB = 1 << 30
STEPS = ("day", "week")
UTILIZATION_EDGES = tuple(number / 20 for number in range(21))
MEMORY_EDGES = (0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 32.0, 40.0, 48.0, 64.0, 80.0, 96.0, 144.0)
Table = Any


def trend(viewer: Viewer, sources: Sources, query: ReportQuery, step: str = "day") -> Trend:
    """Answer with the GPU-hours by day or week of the site's time zone (a week begins on Monday).

    A first or last step that the range cuts holds its part inside. Raises BadRequest for another step, and as `report`.
    """
    if step not in STEPS:
        raise BadRequest(f"step={step[:60]} is not known", hint=f"Use {' or '.join(STEPS)}.")
    return ask(viewer, sources, replace(query, by=Group.DAY, columns=()), lambda question: trend_of(question, step))


def week_hours(viewer: Viewer, sources: Sources, query: ReportQuery) -> WeekHours:
    """Answer with the GPU-hours by weekday and hour of the site's time zone. Raises as `report`."""

    def answer(question: Question) -> WeekHours:
        by_name = _by_bucket(question)
        spans = Counter((local.weekday(), local.hour) for _, local in hours_of(question.reading.span, question.zone))
        hours = {key: by_name.get(f"{key[0]} {key[1]:02}", GpuHours(0.0)) for key in sorted(spans)}
        return WeekHours(hours, dict(sorted(spans.items())), question.state)

    return ask(viewer, sources, replace(query, by=Group.WEEK_HOUR, columns=()), answer)


def heat_map(
    viewer: Viewer,
    sources: Sources,
    query: ReportQuery,
    utilization_edges: Sequence[float] = UTILIZATION_EDGES,
    gpu_memory_gib_edges: Sequence[float] = MEMORY_EDGES,
) -> HeatMap:
    """Answer with the GPU-hours of attempts over their mean utilization and the mean GPU memory that they used.

    The last bin of each axis is open to above. Only bins with jobs are given. Raises as `report`.
    """

    def answer(question: Question) -> HeatMap:
        rows = _binned(question, utilization_edges, gpu_memory_gib_edges)
        placed = [row for row in rows if row["utilization"] is not None and row["memory"] is not None]
        cells = tuple(
            HeatCell(
                _bin(utilization_edges[:-1], row["utilization"]),
                _bin(gpu_memory_gib_edges, row["memory"]),
                row["jobs"],
                row["hours"] or 0.0,
            )
            for row in sorted(placed, key=lambda row: (row["utilization"], row["memory"]))
        )
        total = sum(row["hours"] or 0.0 for row in rows)
        shown = sum(cell.gpu_hours for cell in cells)
        edges = tuple(utilization_edges), tuple(gpu_memory_gib_edges)
        return HeatMap(cells, *edges, total, max(0.0, total - shown), question.state)

    return ask(viewer, sources, replace(query, by=Group.NONE, columns=()), answer)


def hours_by_utilization(
    viewer: Viewer, sources: Sources, query: ReportQuery, edges: Sequence[float] = UTILIZATION_EDGES
) -> HoursByUtilization:
    """Answer with the GPU-hours of attempts by their mean utilization, empty bins too; 1 is in the last. Raises as
    `report`."""

    def answer(question: Question) -> HoursByUtilization:
        jobs: Counter[int | None] = Counter()
        hours: defaultdict[int | None, float] = defaultdict(float)
        for row in _binned(question, edges, MEMORY_EDGES):
            jobs[row["utilization"]] += row["jobs"]
            hours[row["utilization"]] += row["hours"] or 0.0
        bins = tuple(
            UtilizationBin(low, high, jobs[number], hours[number]) for number, (low, high) in enumerate(pairwise(edges))
        )
        return HoursByUtilization(bins, hours[None], question.state)

    return ask(viewer, sources, replace(query, by=Group.NONE, columns=()), answer)


def _binned(question: Question, utilization: Sequence[float], memory_gib: Sequence[float]) -> list[dict[str, Any]]:
    """One form for the map and the curve: to compile another would cost more than to answer it."""
    build = _bins_of(question, utilization, memory_gib)
    return question.run("heat map", build, tuple(utilization), tuple(memory_gib))


def trend_of(question: Question, step: str) -> Trend:
    """The curve that a question by day asks for."""
    return _trend(question, _by_bucket(question), step, _first_days(question, step))


def trends_by_key(question: Question, step: str) -> Callable[[str | None], Trend]:
    """The curve of each group of a question, by its key; one without hours is flat."""
    by_day = question.asking(by=Group.DAY)
    found: defaultdict[str | None, dict[str, Sums]] = defaultdict(dict)
    for row in by_day.run("hours by group", lambda: _hours(by_day, question.query.by), question.query.by):
        for key in keys_of(question, row):
            sums = found[key].setdefault(row["bucket"], {})
            for name in HOUR_NAMES:
                add(sums, name, row[name])
    steps = _first_days(question, step)

    def trend(key: str | None) -> Trend:
        return _trend(question, {day: hours_of_sums(sums) for day, sums in found[key].items()}, step, steps)

    return trend


def _first_days(question: Question, step: str) -> dict[str, datetime]:
    """The first moment of the step in which each day of the range lies, by the day's name."""
    zone = question.zone
    days = sorted({local.date() for _, local in hours_of(question.reading.span, zone)})
    firsts = {day: day - timedelta(days=day.weekday()) if step == "week" else day for day in days}
    return {day.isoformat(): datetime.combine(first, time(), zone) for day, first in firsts.items()}


def _trend(question: Question, by_day: Mapping[str, GpuHours], step: str, first_days: Mapping[str, datetime]) -> Trend:
    found: dict[datetime, GpuHours] = {}
    for day, moment in first_days.items():
        found[moment] = found.get(moment, GpuHours(0.0)) + by_day.get(day, GpuHours(0.0))
    points = tuple(sorted(found.items()))
    return Trend(step, points, total_hours(hours for _, hours in points), question.state)


def _by_bucket(question: Question) -> dict[str, GpuHours]:
    """GPU-hours by the bucket of the question; by way of the attempts where the filter looks at them as a whole."""
    return {row["bucket"]: hours_of_sums(row) for row in question.run("hours", lambda: _hours(question, Group.NONE))}


def _hours(question: Question, by: Group) -> Table:
    """GPU-hours by bucket and raw group."""
    if question.query.filter.nodes or question.selects_by_means:
        rows = question.parts()
    else:
        rows = hours_in_time(question.tables, MARKS, question.wanted(), question.buckets)
    sums = {name: rows[name].sum() for name in HOUR_NAMES}
    return rows.group_by(bucket=rows.bucket, **raw_group(by, rows)).agg(**sums)


def _bins_of(question: Question, utilization: Sequence[float], memory_gib: Sequence[float]) -> Callable[[], Table]:
    """Attempts by the number of their bin; null where nothing was measured."""

    def build() -> Table:
        parts = question.parts(*_MEMORY)
        used = parts.gpu_hours_used / parts.gpu_hours_measured.nullif(0)
        mean = parts.gpu_memory_used_bytes_hours / parts.gpu_memory_used_bytes_measured_hours.nullif(0)
        groups = {
            "utilization": _number(used, utilization, closes=True),
            "memory": _number(mean / GIB, memory_gib, closes=False),
        }
        counted = parts.filter(parts.gpu_hours_allocated > 0)
        return counted.group_by(**groups).agg(jobs=counted.count(), hours=counted.gpu_hours_allocated.sum())

    return build


_MEMORY = ("gpu_memory_used_bytes_hours", "gpu_memory_used_bytes_measured_hours")


def _number(value: Any, edges: Sequence[float], *, closes: bool) -> Any:
    """The number of the bin in which a value lies: the last edge belongs to the last bin, or begins an open one."""
    import ibis

    begins = list(edges[:-1] if closes else edges)
    cases = [(value >= begin, ibis.literal(number, "int64")) for number, begin in reversed(list(enumerate(begins)))]
    return ibis.cases(*cases, else_=ibis.literal(None, "int64"))


def _bin(edges: Sequence[float], number: int) -> Between:
    return Between(edges[number], edges[number + 1] if number + 1 < len(edges) else None)
