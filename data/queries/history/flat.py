"""A report as plain columns, for CSV and Parquet: the same numbers as everywhere, unrounded."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from data.csv_rows import csv_of
from data.queries.history.groups import COLUMNS, Group
from data.queries.history.model import Report, ReportRow

ABOUT = (
    *("name", "user", "account", "partition", "qos", "gpu_model", "gpu_count", "state"),
    *("submit_time", "start_time", "end_time"),
)
BEFORE = "previous_"


def flat_head(report: Report) -> tuple[str, ...]:
    """The names of the columns: the group, what is known of it, the values, and those of the time before."""
    by = report.query.by
    about = ("parent", "level") if by is Group.ACCOUNT else ABOUT if by is Group.JOB else ()
    before = tuple(f"{BEFORE}{name}" for name in report.query.columns) if report.query.compare else ()
    return (by.value, *about, *report.query.columns, *before)


def flat_rows(report: Report) -> Iterator[dict[str, Any]]:
    """One dict per row, with the keys of `flat_head`. Ratios 0..1, GPU-hours, seconds; None = not measured or none."""
    return (_flat(row, report) for row in report.rows)


def csv_text(report: Report) -> str:
    """The rows as CSV with a head; empty = not measured."""
    head = flat_head(report)
    return csv_of(head, ([row[name] for name in head] for row in flat_rows(report)))


def parquet_bytes(report: Report) -> bytes:
    """The rows as a Parquet file: texts, times, whole numbers and floats; null = not measured."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, _kind(name, pa)) for name in flat_head(report)])
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(flat_rows(report)), schema=schema), out)
    return out.getvalue()


def _flat(row: ReportRow, report: Report) -> dict[str, Any]:
    known = {"parent": row.parent, "level": row.level, **row.about}
    found: dict[str, Any] = {}
    for name in flat_head(report):
        if name.startswith(BEFORE):
            found[name] = (row.previous or {}).get(name.removeprefix(BEFORE))
        elif name in COLUMNS:
            found[name] = row.value(name)
        else:
            found[name] = known.get(name)
    found[report.query.by.value] = row.label if report.query.by is Group.JOB else row.key
    return found


def _kind(name: str, pa: Any) -> Any:
    column = COLUMNS.get(name.removeprefix(BEFORE))
    if column is None:
        whole = pa.int64() if name in ("level", "gpu_count") else pa.string()
        return pa.timestamp("us", "UTC") if name.endswith("_time") else whole
    return pa.float64() if column.unit else pa.int64()
