"""Questions as SQL, compiled once for each form of question: Ibis takes longer to compile one than DuckDB to answer it.

The times of the range stand in the compiled text as marks, and are put in when it is run.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import pyarrow as pa

from data.history.columns import HOURS
from data.queries.history.relations import DIMENSIONS, KEYS, Tables
from data.queries.history.span import Range
from data.queries.history.view_sql import schema_used

_KEPT = 256
# Four moments in which no cluster ran.
MARKS = Range(*(datetime(1801, 2, 3, 4, 5, number, tzinfo=UTC) for number in range(4)))
_IN_NODES = (*KEYS, "hour", *DIMENSIONS, "account_path", "state")
Table = Any
Expression = Any
_QUANTILE = re.compile(r"APPROX_QUANTILE\(([^()]+), ([\d.]+)\)")
_EPOCH = re.compile(r'EPOCH\(CAST\(("\w+"\."\w+") AS TIMESTAMP\)\)')


@dataclass(frozen=True, slots=True)
class Compiled:
    """`tables` are those that the text names."""

    sql: str
    tables: tuple[str, ...]

    def of(self, span: Range) -> str:
        """The text for this range."""
        text = self.sql
        for mark, time in zip(_times(MARKS), _times(span), strict=True):
            text = text.replace(_as_ibis_writes(mark), f"TIMESTAMPTZ '{time.isoformat()}'")
        return text


def _times(span: Range) -> tuple[datetime, ...]:
    return (span.since, span.until, span.first_hour, span.end_hour)


@lru_cache(maxsize=8)
def _as_ibis_writes(moment: datetime) -> str:
    import ibis

    text = str(ibis.to_sql(ibis.literal(moment), dialect="duckdb"))
    return text.removeprefix("SELECT").rpartition(" AS ")[0].strip()


@dataclass(frozen=True)
class _Promise:
    """A text that is being made, and by which process: one that was at work at a fork makes nothing for the child."""

    pid: int
    text: Future[Compiled]

    @property
    def holds(self) -> bool:
        return self.pid == os.getpid() or self.text.done()


class CompiledQuestions:
    """The texts that were made, the latest ones kept; each is made once, however many threads ask."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Promise] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], Expression]) -> Compiled:
        with self._guard:
            promise = self._known.get(key)
            is_mine = promise is None or not promise.holds
            if promise is None or is_mine:
                promise = self._known[key] = _Promise(os.getpid(), Future())
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
        if is_mine:
            self._make(key, promise.text, build)
        return promise.text.result()

    def _make(self, key: Hashable, text: Future[Compiled], build: Callable[[], Expression]) -> None:
        try:
            text.set_result(compiled(build()))
        except BaseException as err:
            with self._guard:
                self._known.pop(key, None)
            text.set_exception(err)


def compiled(expression: Expression) -> Compiled:
    """The SQL of DuckDB for an expression over named tables."""
    import ibis
    from ibis.expr import operations

    names = {table.name for table in expression.as_table().op().find(operations.UnboundTable)}
    sql = _with_epochs(_with_quantiles(str(ibis.to_sql(expression, dialect="duckdb"))))
    return Compiled(sql, tuple(sorted(names)))


def _with_quantiles(sql: str) -> str:
    """Quantiles as they are: DuckDB's own estimate of them takes four times as long. All of a column are asked for in
    one list, which sorts it once. No name from outside stands in the text yet."""
    asked = sorted({float(share) for _, share in _QUANTILE.findall(sql)})
    return _QUANTILE.sub(lambda one: f"QUANTILE_CONT({one[1]}, {asked})[{asked.index(float(one[2])) + 1}]", sql)


def _with_epochs(sql: str) -> str:
    """Seconds since 1970 of a moment as they are: the engine's zone is UTC, and to take a zone away and put it back
    costs a seventh of a report."""
    return _EPOCH.sub(r"EPOCH(\1)", sql)


@lru_cache(maxsize=2)
def named_tables(has_edges: bool) -> Tables:
    """The tables by name, whatever engine holds them."""
    usage = table_of("usage", "usage")
    edges = table_of("usage", "edges") if has_edges else None
    return Tables(
        jobs=table_of("jobs", "jobs"),
        usage=usage,
        nodes=split_by_node(usage),
        before=table_of("usage", "before"),
        open=table_of("usage", "open"),
        open_jobs=table_of("jobs", "open_jobs"),
        edge_jobs=table_of("jobs", "edge_jobs"),
        edges=edges,
        crossing_edges=table_of("usage", "crossing_edges") if has_edges else None,
        node_edges=None if edges is None else split_by_node(edges),
    )


def table_of(dataset: str, name: str) -> Table:
    return named_table(schema_used(dataset), name)


def named_table(schema: pa.Schema, name: str) -> Table:
    """A table of this form; all columns may be null, so that rows from anywhere go together."""
    import ibis

    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return ibis.table(ibis.Schema.from_pyarrow(nullable), name=name)


def split_by_node(usage: Table) -> Table:
    """The hours of use by node."""
    rows = usage.select(*_IN_NODES, "by_node").unnest("by_node")
    hours = {column.name: rows.by_node[column.name] for column in HOURS}
    return rows.select(*_IN_NODES, node=rows.by_node["node"], **hours)
