"""Attempts inside a range as one relation, one row each with its dimensions and measures. Ibis; any engine.

An attempt that began and ended inside is its row of `jobs`. One that crosses an edge, or still runs, is the sum of its
hours of `usage` inside; when it has none (they were not kept), its row of `jobs` counts for the share of its time
inside, and is counted as apportioned. Reports in time and by node are made of `usage` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.history.columns import KEY
from data.queries.history import measures as of
from data.queries.history.measures import HOUR_NAMES, WAIT
from data.queries.history.span import Range

Table = Any
Keep = Callable[[Table], Table]
KEYS = tuple(column.name for column in KEY)
DIMENSIONS = ("display_id", "name", "user", "account", "partition", "qos", "gpu_model", "gpu_count")
PATH_SEPARATOR = "\x1f"
_FROM_JOBS = ("state", "end_time", "eligible_time", "memory_used_bytes", "memory_allocated_bytes", *of.OF_WHOLE)


@dataclass(frozen=True)
class Tables:
    """The datasets as relations, each key once. The narrowed ones may leave out what cannot matter to the range:

    `before` has the hours of attempts that began before the range, `open` those of others that may not have ended in
    it; `open_jobs` and `edge_jobs` the rows of `jobs` that attempts in `open`, or across an edge, can have.
    `nodes` are the hours split by node: key, hour, node, GPU-hours and the dimensions of `usage`.
    `edges` are hours that an edge of the range cuts, already cut (None = no edge cuts an hour), `crossing_edges` those
    of attempts that did not begin and end inside, `node_edges` all of them split by node.
    """

    jobs: Table
    usage: Table
    nodes: Table
    before: Table
    open: Table
    open_jobs: Table
    edge_jobs: Table
    edges: Table | None = None
    crossing_edges: Table | None = None
    node_edges: Table | None = None


@dataclass(frozen=True)
class Wanted:
    """`measures` to give; `allowed` keeps the rows of a relation with dimensions that the viewer may see and the filter
    lets through, `ended_as` those whose state and findings fit (None = any do)."""

    measures: tuple[str, ...]
    allowed: Keep
    ended_as: Keep | None
    rates: Mapping[str, float]

    def jobs(self, jobs: Table) -> Table:
        """Both, for rows of `jobs`."""
        return self.known(self.allowed(jobs))

    def known(self, rows: Table) -> Table:
        return rows if self.ended_as is None else self.ended_as(rows)


def attempts(tables: Tables, span: Range, wanted: Wanted) -> Table:
    """All attempts in the range: KEYS, DIMENSIONS, `path`, `state`, `start_time`, `end_time` and the measures."""
    inside = ended_inside(tables.jobs, span)
    rows = [_of_jobs(wanted.jobs(inside), wanted)]
    crossing = _crossing_hours(tables, span)
    summed = _with_jobs(_by_attempt(wanted.allowed(crossing), wanted), _waited(tables.edge_jobs, span, wanted))
    rows.append(_select(wanted.known(summed), wanted))
    rows.append(_without_hours(tables, span, crossing, wanted))
    return _union(rows)


def in_time(tables: Tables, span: Range, wanted: Wanted, bucket_of: Table) -> Table:
    """The same per attempt and bucket of time; `bucket_of` has `hour` and `bucket`."""
    hours = _with_edges(_whole_hours(tables.usage, span), tables.edges)
    found = wanted.allowed(hours).inner_join(bucket_of, "hour")
    summed = _with_jobs(_by_attempt(found, wanted, "bucket"), tables.jobs)
    return _select(wanted.known(summed), wanted, "bucket")


def by_node(
    tables: Tables, span: Range, wanted: Wanted, nodes: Sequence[str] = (), bucket_of: Table | None = None
) -> Table:
    """The same per attempt and node (and bucket): GPU-hours alone are split by node, other measures are null."""
    import ibis

    hours = wanted.allowed(_with_edges(_whole_hours(tables.nodes, span), tables.node_edges))
    hours = hours.filter(hours.node.isin(list(nodes))) if nodes else hours
    bucket = () if bucket_of is None else ("bucket",)
    hours = hours if bucket_of is None else hours.inner_join(bucket_of, "hour")
    sums = {name: hours[name].sum() for name in HOUR_NAMES}
    summed = hours.group_by([*KEYS, "node", *bucket]).agg(**_dimensions(hours), usage_state=hours.state.max(), **sums)
    joined = wanted.known(_with_jobs(summed, tables.jobs))
    null = ibis.literal(None, "float64")
    known = {"jobs": ibis.literal(1, "int64"), **{name: joined[name] for name in HOUR_NAMES}}
    known |= {name: make() for name, make in of.common_of(joined, wanted.rates).items() if name in wanted.measures}
    made = {name: known.get(name, null) for name in wanted.measures}
    return joined.select(*_identity(joined), "node", *bucket, **_floats(made))


def hours_in_time(tables: Tables, span: Range, wanted: Wanted, bucket_of: Table) -> Table:
    """The hours themselves with their bucket of time, and `path`: no attempts are made of them, the fast way for
    charts, which count no jobs."""
    hours = _with_edges(_whole_hours(tables.usage, span), tables.edges)
    found = wanted.allowed(hours)
    if wanted.ended_as is not None:
        found = wanted.known(_with_state(found, tables.jobs))
    found = found.inner_join(bucket_of, "hour")
    return found.mutate(path=path_of(found))


def ended_inside(jobs: Table, span: Range) -> Table:
    """Rows of attempts that began and ended in the range."""
    began = (jobs.start_time >= span.since) & (jobs.start_time < span.until)
    return jobs.filter(began & (jobs.end_time <= span.until))


def path_of(rows: Table) -> Any:
    """The account with its parents as one text."""
    import ibis

    joined = rows.account_path.join(PATH_SEPARATOR)
    return (
        (rows.account_path.length() > 0)
        .ifelse(joined, rows.account)
        .fill_null(rows.account.fill_null(ibis.literal("")))
    )


def _crossing_hours(tables: Tables, span: Range) -> Table:
    before = _whole_hours(tables.before, span)
    later = _whole_hours(tables.open, span)
    rows = [before.filter(before.start_time < span.since), later.filter(later.start_time >= span.since)]
    found = _union(rows if tables.crossing_edges is None else [*rows, tables.crossing_edges])
    inside = ended_inside(tables.open_jobs, span)
    return found.anti_join(inside.select(*KEYS), list(KEYS))


def _without_hours(tables: Tables, span: Range, crossing: Table, wanted: Wanted) -> Table:
    """Rows of `jobs` that cross an edge and of which no hour was kept."""
    jobs = _waited(tables.edge_jobs, span, wanted)
    crosses = (jobs.start_time < span.since) | (jobs.end_time > span.until)
    touches = (jobs.start_time < span.until) & (jobs.end_time > span.since)
    jobs = wanted.jobs(jobs.filter(crosses & touches).anti_join(crossing.select(*KEYS), list(KEYS)))
    begin = (jobs.start_time < span.since).ifelse(span.since, jobs.start_time)
    end = (jobs.end_time > span.until).ifelse(span.until, jobs.end_time)
    whole = jobs.end_time.epoch_seconds() - jobs.start_time.epoch_seconds()
    share = (end.epoch_seconds() - begin.epoch_seconds()) / whole.nullif(0)
    return _of_jobs(jobs, wanted, share)


def _waited(jobs: Table, span: Range, wanted: Wanted) -> Table:
    """Who began before the range did not wait in it."""
    if WAIT not in wanted.measures:
        return jobs
    return jobs.mutate(eligible_time=(jobs.start_time >= span.since).ifelse(jobs.eligible_time, None))


def _of_jobs(jobs: Table, wanted: Wanted, share: Any = None) -> Table:
    made = of.of_jobs(jobs, wanted.measures, wanted.rates, share)
    names = (*KEYS, *DIMENSIONS, "state", "end_time", "findings")
    return jobs.select(*names, path=path_of(jobs), **_floats(made))


def _by_attempt(hours: Table, wanted: Wanted, *bucket: str) -> Table:
    sums = of.of_usage(hours, of.sums_needed(wanted.measures))
    return hours.group_by([*KEYS, *bucket]).agg(**_dimensions(hours), usage_state=hours.state.max(), **sums)


def _dimensions(hours: Table) -> dict[str, Any]:
    """An attempt's dimensions hardly ever change while it runs; where they do, one of them counts."""
    return {**{name: hours[name].max() for name in DIMENSIONS}, "path": path_of(hours).max()}


def _with_state(hours: Table, jobs: Table) -> Table:
    known = jobs.select(*KEYS, "findings", job_state=jobs.state)
    joined = hours.left_join(known, list(KEYS)).drop(*(f"{name}_right" for name in KEYS))
    return joined.mutate(state=joined.job_state.fill_null(joined.state))


def _with_jobs(summed: Table, jobs: Table) -> Table:
    """What only `jobs` knows of an attempt, as `job_...`; null for one that has no row there."""
    known = jobs.select(*KEYS, "findings", **{f"job_{name}": jobs[name] for name in _FROM_JOBS})
    joined = summed.left_join(known, list(KEYS)).drop(*(f"{name}_right" for name in KEYS))
    return joined.mutate(state=joined.job_state.fill_null(joined.usage_state), end_time=joined.job_end_time)


def _select(summed: Table, wanted: Wanted, *bucket: str) -> Table:
    made = of.of_attempts(summed, wanted.measures, wanted.rates)
    return summed.select(*_identity(summed), *bucket, **_floats(made))


def _identity(rows: Table) -> tuple[Any, ...]:
    return (*KEYS, *DIMENSIONS, "state", "end_time", "findings", rows.path)


def _floats(made: Mapping[str, Any]) -> dict[str, Any]:
    """One type for each measure, so that rows of both datasets go together."""
    return {name: value.cast("float64") for name, value in made.items()}


def _whole_hours(usage: Table, span: Range) -> Table:
    return usage.filter((usage.hour >= span.first_hour) & (usage.hour < span.end_hour))


def _with_edges(hours: Table, edges: Table | None) -> Table:
    return hours if edges is None else _union([hours, edges])


def _union(rows: Sequence[Table]) -> Table:
    first, *others = rows
    names = list(first.columns)
    return first.union(*(other.select(*names) for other in others)) if others else first
