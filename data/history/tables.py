"""Rows of one dataset as Arrow tables: made, aligned to today's form, told apart by their keys. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from data.history.columns import SCHEMA_VERSION
from data.history.datasets import Dataset

_SEPARATOR = "\x1f"


def table_of(dataset: Dataset, rows: Iterable[Mapping[str, Any]], collected_at: datetime | None = None) -> pa.Table:
    """Rows by column name, an absent one null; `schema_version` and `collected_at` are filled in where absent.

    Raises pyarrow.ArrowInvalid for a row that does not fit, such as one without its key.
    """
    filled = {"schema_version": SCHEMA_VERSION, "collected_at": collected_at}
    return pa.Table.from_pylist([{**filled, **row} for row in rows], schema=dataset.schema)


def schema_part(dataset: Dataset, names: Sequence[str] | None) -> pa.Schema:
    """The schema of some columns; None = of all."""
    return dataset.schema if names is None else pa.schema([dataset.schema.field(name) for name in names])


def aligned(dataset: Dataset, table: pa.Table, names: Sequence[str] | None = None) -> pa.Table:
    """The table (or some of its columns) in today's form: what an earlier version did not know is null."""
    columns, schema = [], schema_part(dataset, names)
    for field in schema:
        place = table.schema.get_field_index(field.name)
        columns.append(pa.nulls(table.num_rows, field.type) if place < 0 else table.column(place).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def keys_of(dataset: Dataset, table: pa.Table) -> pa.Array:
    """One text per row, the same for rows with the same key."""
    parts = [_as_text(table.column(name)) for name in dataset.key]
    joined = pc.binary_join_element_wise(*parts, _SEPARATOR)
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def without_keys(dataset: Dataset, table: pa.Table, keys: pa.Array) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(keys_of(dataset, table), value_set=keys)))


def with_keys(dataset: Dataset, table: pa.Table, keys: pa.Array) -> pa.Table:
    return table.filter(pc.is_in(keys_of(dataset, table), value_set=keys))


def newest_of(dataset: Dataset, table: pa.Table) -> pa.Table:
    """Each key once, its newest row, in the order of the keys."""
    if table.num_rows == 0:
        return table
    order = pa.table({"key": keys_of(dataset, table), "at": table.column("collected_at")})
    places = pc.sort_indices(order, sort_keys=[("key", "ascending"), ("at", "descending")])
    keys = order.column("key").take(places).combine_chunks()
    first = pa.concat_arrays([pa.array([True]), pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1))])
    return table.take(places.filter(first))


def says_the_same(first: pa.Table, second: pa.Table) -> bool:
    """Whether two tables of one schema hold the same rows in the same order, whenever they were collected."""
    if first.num_rows != second.num_rows:
        return False
    return bool(first.drop_columns(["collected_at"]).equals(second.drop_columns(["collected_at"])))


def by_part(dataset: Dataset, table: pa.Table) -> dict[tuple[date, str], pa.Table]:
    """The rows by UTC day and name of the part of the day in whose file they are written."""
    if table.num_rows == 0:
        return {}
    times = table.column(dataset.day_column).cast(pa.timestamp("s", tz="UTC"), safe=False)
    form = {"day": "%Y-%m-%d|", "hour": "%Y-%m-%d|%H", "time": "%Y-%m-%d|%H%M%S"}[dataset.part]
    names = pc.strftime(times, format=form)
    found = {}
    for name in pc.unique(names).to_pylist():
        day, _, part = name.partition("|")
        found[(date.fromisoformat(day), part)] = table.filter(pc.equal(names, name))
    return found


def day_of(moment: datetime) -> date:
    """The UTC day of a moment."""
    return moment.astimezone(UTC).date()


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).cast(pa.string())
    return column.cast(pa.string())
