"""How long the jobs waited that began in the range: from eligible to start, of rows of `jobs` (any end)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa

from data.history.datasets import DATASETS
from data.queries.history import narrowing
from data.queries.history.compiled import MARKS, named_table
from data.queries.history.grouping import raw_group
from data.queries.history.groups import IN_TIME, SIZES, Group
from data.queries.history.model import WaitRow
from data.queries.history.question import Question
from data.queries.history.relations import KEYS, path_of

Table = Any

QUANTILES = {"p50": 0.5, "p90": 0.9}


def begun(question: Question) -> Table:
    """The rows of `jobs` that began in the range and fit, with `wait` in seconds; null where it is not known."""
    jobs, wanted = question.tables.jobs, question.marked.filter
    rows = question.wanted().jobs(jobs.filter((jobs.start_time >= MARKS.since) & (jobs.start_time < MARKS.until)))
    if wanted.nodes:
        rows = rows.filter(reduce(or_, [rows.nodes.contains(name) for name in sorted(wanted.nodes)]))
    if question.selects_by_means:
        rows = rows.semi_join(question.asking(by=Group.NONE).parts().select(*KEYS), list(KEYS))
    wait = (rows.start_time.epoch_seconds() - rows.eligible_time.epoch_seconds()).cast("float64")
    return rows.mutate(path=path_of(rows), wait=(wait >= 0).ifelse(wait, None))


def waits_by_size(question: Question) -> tuple[WaitRow, ...]:
    """Of all, and by number of GPUs, in one pass."""
    row = question.run("waits by size", lambda: _by_size(begun(question)))[0]
    return tuple(
        WaitRow(name, row[f"jobs_{number}"], row[f"p50_{number}"], row[f"p90_{number}"])
        for number, name in enumerate(("", *SIZES))
    )


def _by_size(rows: Table) -> Table:
    size = narrowing.size_of(rows.gpu_count)
    aggregates: dict[str, Any] = {}
    for number, name in enumerate(("", *SIZES)):
        where = None if not name else size == name
        aggregates[f"jobs_{number}"] = rows.wait.count(where=where)
        aggregates |= {f"{key}_{number}": rows.wait.approx_quantile(q, where=where) for key, q in QUANTILES.items()}
    return rows.agg(**aggregates)


def waits_by_group(question: Question, pairs: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, WaitRow]:
    """By group: `pairs` are the raw groups, each with the name of a place to which it adds."""
    if question.query.by is Group.NONE or not pairs:
        return {}
    rows = question.run("waits by group", lambda: _by_group(question), _give_pairs(question, pairs))
    return {row["place"]: WaitRow(row["place"], row["jobs"], row["p50"], row["p90"]) for row in rows}


def _by_group(question: Question) -> Table:
    rows = _grouped(question, begun(question))
    raw = raw_group(question.query.by, rows)
    keyed = rows.select("wait", **{f"raw_{name}": value for name, value in raw.items()})
    mapping = named_table(_pairs_schema(rows.select(**raw).schema().to_pyarrow()), "pairs")
    joined = keyed.inner_join(mapping, [(f"raw_{name}", f"of_{name}") for name in raw])
    return joined.group_by("place").agg(
        jobs=joined.wait.count(), **{key: joined.wait.approx_quantile(q) for key, q in QUANTILES.items()}
    )


def _give_pairs(question: Question, pairs: Sequence[tuple[Mapping[str, Any], str]]) -> str:
    """The pairs as a table of the engine; says its form."""
    names = list(pairs[0][0])
    schema = _pairs_schema(
        pa.schema([(name, DATASETS["jobs"].schema.field(name).type if name in KEYS else pa.string()) for name in names])
    )
    columns = [pa.array([raw[name] for raw, _ in pairs], schema.field(f"of_{name}").type) for name in names]
    places = pa.array([place for _, place in pairs], pa.string())
    question.reading.give("pairs", pa.Table.from_arrays([*columns, places], schema=schema))
    return ",".join(names)


def _pairs_schema(raw: pa.Schema) -> pa.Schema:
    return pa.schema([*((f"of_{field.name}", field.type) for field in raw), ("place", pa.string())])


def _grouped(question: Question, rows: Table) -> Table:
    """With `node` or `bucket`, where the question is by them: a job on several nodes waits for each."""
    by = question.query.by
    if by is Group.NODE:
        rows = rows.unnest("nodes").rename(node="nodes")
    if by in IN_TIME:
        rows = rows.mutate(hour=rows.start_time.truncate("h")).inner_join(question.buckets, "hour")
    return rows
