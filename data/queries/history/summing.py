"""The sums of a question: of all, and of each of its groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from data.errors import BadRequest
from data.queries.history.compiled import named_table
from data.queries.history.grouping import Place, Sums, place_of, places_of, raw_group
from data.queries.history.groups import SPLIT, Group
from data.queries.history.measures import WAIT
from data.queries.history.model import Value
from data.queries.history.question import Question
from data.queries.history.relations import DIMENSIONS, KEYS
from data.queries.history.sized_waits import sized

Table = Any

MOST_JOBS = 100_000
WITH_WAITS, RAW = "with_waits", "raw_"
_COUNTED = ("jobs", "jobs_without_gpu_count", "jobs_apportioned", "memory_jobs")
Raw = Mapping[str, Any]


@dataclass
class Summed:
    """`raw` are the raw groups that went into a place, `about` what is known of a job; `groups` counts all places.

    `values` are those of rows that were made of the sums already.
    `waits` are the columns of the table WITH_WAITS, where it was made: by raw group, waits (`sized`) as lists.
    """

    total: Sums
    rows: dict[Place, Sums]
    groups: int
    raw: dict[Place, list[Raw]] = field(default_factory=dict)
    about: dict[Place, Raw] = field(default_factory=dict)
    values: dict[Place, Mapping[str, Value]] = field(default_factory=dict)
    waits: pa.Schema | None = None


def summed(question: Question, *more: str, waits: bool = False) -> Summed:
    """Add up what the columns of the query need, and `more`, by group; of jobs only the first ones in its order.

    With `waits` those are kept on the way, where a job is in one group: the files are read once for both.
    """
    measures = question.wanted(*more).measures
    if question.query.by is Group.JOB:
        return _jobs(question, measures)
    if waits and question.query.by not in SPLIT and not question.query.filter.nodes:
        return _with_waits(question, measures)
    found = [row for row in question.run("sums", lambda: _sums(question, measures), measures) if row["jobs"]]
    total = total_of(found, measures)
    if question.query.by in SPLIT:
        names = [name for name in _COUNTED if name in measures]
        total |= {
            name: value or 0.0
            for name, value in question.run("once", lambda: _once(question, names), measures)[0].items()
        }
    return _folded(question, found, measures, total)


def _sums(question: Question, measures: Sequence[str]) -> Table:
    parts = question.parts(*measures)
    raw = raw_group(question.query.by, parts)
    sums = {name: parts[name].sum() for name in measures}
    return parts.group_by(raw).agg(**sums) if raw else parts.agg(**sums)


def _with_waits(question: Question, measures: Sequence[str]) -> Summed:
    kept = question.keep_as(WITH_WAITS, lambda: _kept(question, measures), measures)
    rows = named_table(kept, WITH_WAITS)
    raw = {name.removeprefix(RAW): rows[name] for name in kept.names if name.startswith(RAW)}
    sums = {name: rows[name].sum() for name in measures}
    found = question.run("kept sums", lambda: rows.group_by(raw).agg(**sums) if raw else rows.agg(**sums), measures)
    there = [row for row in found if row["jobs"]]
    made = _folded(question, there, measures, total_of(there, measures))
    made.waits = kept
    return made


def _kept(question: Question, measures: Sequence[str]) -> Table:
    """Sums and waits, each with its size, by raw group."""
    parts = question.parts(*measures, WAIT)
    raw = {f"{RAW}{name}": value for name, value in raw_group(question.query.by, parts).items()}
    sums = {name: parts[name].sum() for name in measures}
    kept = {**sums, "waits": sized(parts[WAIT], parts.gpu_count).collect()}
    return parts.group_by(raw).agg(**kept) if raw else parts.agg(**kept)


def _once(question: Question, names: Sequence[str]) -> Table:
    """What is counted in jobs, each once."""
    parts = question.parts()
    jobs = parts.group_by(list(KEYS)).agg(**{name: parts[name].max() for name in names})
    return jobs.agg(**{name: jobs[name].sum() for name in names})


def total_of(rows: Sequence[Raw], measures: Sequence[str]) -> Sums:
    """The sum of each measure; null where all of it is."""
    columns = {name: [row[name] for row in rows if row[name] is not None] for name in measures}
    return {name: sum(values) if values else None for name, values in columns.items()}


def _folded(question: Question, found: Sequence[Raw], measures: Sequence[str], total: Sums) -> Summed:
    by_place: dict[Place, list[Raw]] = {}
    for row in found:
        for place in places_of(question, row):
            by_place.setdefault(place, []).append(row)
    raw: dict[Place, list[Raw]] = {
        place: [{name: value for name, value in row.items() if name not in measures} for row in rows]
        for place, rows in by_place.items()
    }
    return Summed(total, {place: total_of(rows, measures) for place, rows in by_place.items()}, len(by_place), raw)


def _jobs(question: Question, measures: Sequence[str]) -> Summed:
    whole = question.asking(by=Group.NONE)
    total = whole.run("sums", lambda: _sums(whole, measures), measures)[0]
    limit = min(question.query.limit or MOST_JOBS, MOST_JOBS)
    found = question.run("jobs", lambda: _first(question, measures, limit), measures, limit)
    made = Summed(total_of([total], measures), {}, int(total["jobs"] or 0))
    for row in found:
        add_job(made, row, measures)
    return made


def add_job(made: Summed, row: Raw, measures: Sequence[str]) -> Place:
    """Add an attempt as a row of its own."""
    place = place_of(Group.JOB, row)
    made.rows[place] = {name: row[name] for name in measures}
    made.raw[place] = [{name: row[name] for name in KEYS}]
    made.about[place] = {name: row[name] for name in (*KEYS, *DIMENSIONS, "state", "end_time")}
    return place


def _first(question: Question, measures: Sequence[str], limit: int) -> Table:
    parts = question.parts(*measures)
    return parts.order_by(order_of(question.query.sort, parts)).limit(limit)


def order_of(sort: str, parts: Table) -> list[Any]:
    """The order of jobs, in the engine; ties by key, so that it is always the same."""
    import ibis

    name = sort.removeprefix("-")
    if name not in _ORDERS:
        raise BadRequest(f"jobs cannot be sorted by {name[:60]}", hint=f"Sort by {', '.join(_ORDERS)}.")
    value = _ORDERS[name](parts)
    first = ibis.desc(value, nulls_first=False) if sort.startswith("-") else ibis.asc(value, nulls_first=False)
    return [first, *(parts[key] for key in KEYS if key != value.get_name())]


def _measured(rows: Table) -> Any:
    return rows.gpu_hours_measured.fill_null(0.0)


_ORDERS: dict[str, Callable[[Table], Any]] = {
    "gpu_hours_allocated": lambda rows: rows.gpu_hours_allocated,
    "gpu_hours_measured": _measured,
    "gpu_hours_used": lambda rows: rows.gpu_hours_used,
    "gpu_hours_idle": lambda rows: rows.gpu_hours_idle,
    "gpu_hours_wasted": lambda rows: rows.gpu_hours_measured - rows.gpu_hours_used,
    "gpu_hours_partly_used": lambda rows: (
        rows.gpu_hours_measured - rows.gpu_hours_used - rows.gpu_hours_idle.fill_null(0.0)
    ),
    "gpu_hours_not_measured": lambda rows: rows.gpu_hours_allocated - _measured(rows),
    "utilization": lambda rows: rows.gpu_hours_used / rows.gpu_hours_measured.nullif(0),
    "coverage": lambda rows: rows.gpu_hours_measured / rows.gpu_hours_allocated.nullif(0),
    "name": lambda rows: rows.job_id,
}
