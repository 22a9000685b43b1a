"""Rows of `usage/`, column by column: one per attempt and hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from data.history.columns import HOURS
from data.history.measure.identity import AccountPaths, identity, is_apportioned
from data.history.measure.use import AttemptUse, Ints
from data.history.usage_columns import USAGE_SCHEMA

_MICROSECONDS = 1_000_000
_NODE_COLUMNS = tuple(column.name for column in HOURS)


def usage_table(uses: Iterable[AttemptUse], *, collected_at: datetime, account_path: AccountPaths) -> pa.Table:
    """One row per attempt and UTC hour in which it ran, running attempts too."""
    rows = [use for use in uses if len(use.hours.begin) and None not in use.job.key]
    repeats = np.array([len(use.hours.begin) for use in rows], dtype=np.int64)
    place = np.repeat(np.arange(len(rows)), repeats)
    shared = [identity(use, collected_at, account_path) for use in rows]
    columns = [_column(field, rows, shared, place) for field in USAGE_SCHEMA]
    return pa.Table.from_arrays(columns, schema=USAGE_SCHEMA)


def _column(field: pa.Field, rows: Sequence[AttemptUse], shared: Sequence[dict[str, Any]], place: Ints) -> pa.Array:
    if field.name == "hour":
        begins = np.concatenate([use.hours.begin for use in rows]) if rows else np.zeros(0, dtype=np.int64)
        return pa.array(begins * _MICROSECONDS, pa.int64()).cast(field.type)
    if field.name == "by_node":
        return _by_node(rows, field.type)
    if field.name == "is_apportioned":
        return pa.array([is_apportioned(use) for use in rows], field.type).take(pa.array(place))
    if shared and field.name in shared[0]:
        return pa.array([row[field.name] for row in shared], field.type).take(pa.array(place))
    if not rows or field.name not in rows[0].hours.values:
        return pa.nulls(len(place), field.type)
    return _nulls(np.concatenate([use.hours.values[field.name] for use in rows]), field.type)


def _nulls(values: np.ndarray[tuple[int], np.dtype[np.float64]], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind, mask=np.isnan(values))


def _by_node(rows: Sequence[AttemptUse], kind: pa.ListType) -> pa.Array:
    """One entry per node and hour: hour by hour, and within an hour node by node."""
    lengths, names, columns = [], [], [[] for _ in _NODE_COLUMNS]  # type: ignore[var-annotated]
    for use in rows:
        hours, nodes = len(use.hours.begin), use.hours.by_node
        lengths.append(np.full(hours, len(nodes)))
        names.append(np.tile(np.array(list(nodes), dtype=object), hours))
        for into, name in zip(columns, _NODE_COLUMNS, strict=True):
            if nodes:
                into.append(np.stack([values[name] for values in nodes.values()], axis=1).ravel())
    offsets = np.concatenate([[0], *lengths]).cumsum().astype(np.int32)
    flat = [np.concatenate(parts) if parts else np.zeros(0) for parts in columns]
    entry = kind.value_type
    fields = [entry.field(k) for k in range(entry.num_fields)]
    texts = np.concatenate(names) if names else np.zeros(0, dtype=object)
    values = [pa.array(texts, pa.string()), *(_nulls(part, pa.float64()) for part in flat)]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.StructArray.from_arrays(values, fields=fields))
