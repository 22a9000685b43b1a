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
from data.queries.history.groups import IN_TIME, SIZES, SPLIT, Group
from data.queries.history.measures import wait_of
from data.queries.history.model import WaitRow
from data.queries.history.question import Question
from data.queries.history.relations import KEYS, path_of
from data.queries.history.sized_waits import size_in, wait_in
from data.queries.history.summing import RAW, WITH_WAITS

Table = Any
_NO_WAIT: Mapping[str, Any] = {"jobs": 0, "p50": None, "p90": None}
QUANTILES = {"p50": 0.5, "p90": 0.9}
KEPT_WAITS, PAIRS = "kept_waits", "pairs"
_OF_ALL, _OF_SIZE, _OF_GROUP = "all", "size", "group"
# One raw group is one place.
_PLAIN = frozenset({Group.USER, Group.PARTITION, Group.QOS, Group.MODEL, Group.STATE, Group.SIZE})
Pairs = Sequence[tuple[Mapping[str, Any], str]]


def waits_of(
    question: Question, pairs: Pairs, summed: pa.Schema | None
) -> tuple[tuple[WaitRow, ...], dict[str, WaitRow]]:
    """Of all and by number of GPUs, and by group: `pairs` are the raw groups, each with the name of a place to which
    it adds. `summed` are the columns of WITH_WAITS, where it was made."""
    if question.query.by in SPLIT:
        found = question.run("waits", lambda: together(begun(question)))
        return _sizes(found), _by_pairs(question, pairs, None)
    kept = summed or question.keep_as(KEPT_WAITS, lambda: slim(question))
    rows = named_table(kept, KEPT_WAITS) if summed is None else listed(kept)
    is_plain = question.query.by in _PLAIN and bool(pairs)
    raw = next(name for name in kept.names if name.startswith(RAW)) if is_plain else None
    found = question.run("waits", lambda: together(rows, raw), raw)
    of_all = _sizes(found)
    if is_plain:
        names = {raw[name]: place for raw, place in pairs for name in raw}
        by_group = {row["place"]: row for row in found if row["kind"] == _OF_GROUP and row["place"] in names}
        return of_all, {names[key]: _wait(names[key], row) for key, row in by_group.items()}
    if question.query.by is Group.NONE or not pairs:
        return of_all, {}
    return of_all, _by_pairs(question, pairs, rows)


def begun(question: Question) -> Table:
    """The rows of `jobs` that began in the range and fit, with `wait` in seconds (null where it is not known), `size`
    and `path`."""
    jobs, wanted = question.tables.jobs, question.marked.filter
    rows = question.wanted().jobs(jobs.filter((jobs.start_time >= MARKS.since) & (jobs.start_time < MARKS.until)))
    if wanted.nodes:
        rows = rows.filter(reduce(or_, [rows.nodes.contains(name) for name in sorted(wanted.nodes)]))
    if question.selects_by_means:
        rows = rows.semi_join(question.asking(by=Group.NONE).parts().select(*KEYS), list(KEYS))
    wait = wait_of(rows.eligible_time, rows.start_time)
    return rows.mutate(path=path_of(rows), wait=wait, size=narrowing.size_of(rows.gpu_count))


def slim(question: Question) -> Table:
    """Waits with the raw group and the size of each job, and no more."""
    rows = begun(question)
    raw = {f"{RAW}{name}": value for name, value in raw_group(question.query.by, rows).items()}
    return rows.select("wait", "size", **raw)


def listed(summed: pa.Schema) -> Table:
    """The same, of the waits that were kept with the sums."""
    rows = named_table(summed, WITH_WAITS)
    raw = [name for name in summed.names if name.startswith(RAW)]
    each = rows.select(*raw, code=rows.waits.unnest())
    return each.select(*raw, size=size_in(each.code), wait=wait_in(each.code))


def together(rows: Table, raw: str | None = None) -> Table:
    """Of all, by size, and by the raw group of this name: one statement, of which the engine does the parts at once."""
    import ibis

    of_all = quantiles(rows, rows).mutate(place=ibis.literal("", "string"), kind=ibis.literal(_OF_ALL))
    found = of_all.union(_by(rows, "size", _OF_SIZE).select(*of_all.columns))
    return found if raw is None else found.union(_by(rows, raw, _OF_GROUP).select(*of_all.columns))


def _by(rows: Table, column: str, kind: str) -> Table:
    import ibis

    return quantiles(rows.group_by(place=rows[column].cast("string")), rows).mutate(kind=ibis.literal(kind))


def by_pairs(question: Question, rows: Table | None) -> Table:
    """By place, by way of the pairs; a job on several nodes waits for each."""
    keyed = _split(question) if rows is None else rows
    raw = [name for name in keyed.columns if name.startswith(RAW)]
    of_keys = [(f"of_{name.removeprefix('raw_')}", keyed.schema()[name].to_pyarrow()) for name in raw]
    pairs = named_table(pa.schema([*of_keys, ("place", pa.string())]), PAIRS)
    joined = keyed.inner_join(pairs, [(name, of) for name, (of, _) in zip(raw, of_keys, strict=True)])
    return quantiles(joined.group_by("place"), joined)


def quantiles(groups: Any, rows: Table) -> Table:
    return groups.agg(jobs=rows.wait.count(), **{key: rows.wait.approx_quantile(q) for key, q in QUANTILES.items()})


def _sizes(found: Sequence[Mapping[str, Any]]) -> tuple[WaitRow, ...]:
    of_all = next(row for row in found if row["kind"] == _OF_ALL)
    by_size = {row["place"]: row for row in found if row["kind"] == _OF_SIZE}
    return (_wait("", of_all), *(_wait(name, by_size.get(name, _NO_WAIT)) for name in SIZES))


def _by_pairs(question: Question, pairs: Pairs, rows: Table | None) -> dict[str, WaitRow]:
    if not pairs:
        return {}
    names = list(pairs[0][0])
    own = DATASETS["jobs"].schema
    kinds = [(f"of_{name}", own.field(name).type if name in KEYS else pa.string()) for name in names]
    columns = [pa.array([raw[name] for raw, _ in pairs], kind) for name, (_, kind) in zip(names, kinds, strict=True)]
    places = pa.array([place for _, place in pairs], pa.string())
    schema = pa.schema([*kinds, ("place", pa.string())])
    question.reading.give(PAIRS, pa.Table.from_arrays([*columns, places], schema=schema))
    found = question.run("waits by pairs", lambda: by_pairs(question, rows))
    return {row["place"]: _wait(row["place"], row) for row in found}


def _wait(name: str, row: Mapping[str, Any]) -> WaitRow:
    return WaitRow(name, row["jobs"], row["p50"], row["p90"])


def _split(question: Question) -> Table:
    rows, by = begun(question), question.query.by
    if by is Group.NODE:
        rows = rows.unnest("nodes").rename(node="nodes")
    if by in IN_TIME:
        rows = rows.mutate(hour=rows.start_time.truncate("h")).inner_join(question.buckets, "hour")
    return rows.select("wait", **{f"{RAW}{name}": value for name, value in raw_group(by, rows).items()})
