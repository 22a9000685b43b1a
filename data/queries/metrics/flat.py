"""The detailed table as plain columns, for CSV and Parquet: the same numbers as on screen, unrounded."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from data.csv_rows import csv_of
from data.queries.metrics.columns import COLUMNS
from data.queries.metrics.model import MetricsRow, MetricsTable

_TEXTS = ("row", "job_name", "user", "account", "partition", "gpu_models", "utilization_metric", "findings")
_HOURS = (
    "gpu_hours_allocated",
    "gpu_hours_measured",
    "gpu_hours_used",
    "gpu_hours_idle",
    "gpu_hours_wasted",
    "coverage",
)
HEAD = (
    *_TEXTS[:5],
    "jobs",
    "jobs_running",
    *_HOURS,
    *(name for column in COLUMNS for name in (column, f"{column}_gpu_hours")),
    *_TEXTS[5:],
    "gpu_hours_estimated",
    "gpu_hours_shared",
)


def flat_rows(table: MetricsTable) -> Iterator[dict[str, Any]]:
    """One dict per row, with the keys of HEAD. Ratios 0..1, GPU-hours, bytes, bytes/s, watts; None = not measured."""
    return (_flat(row) for row in table.rows)


def csv_text(table: MetricsTable) -> str:
    """The rows as CSV with a head; empty = not measured."""
    return csv_of(HEAD, ([row[name] for name in HEAD] for row in flat_rows(table)))


def parquet_bytes(table: MetricsTable) -> bytes:
    """The rows as a Parquet file: texts, whole numbers and floats; null = not measured."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {name: pa.string() for name in _TEXTS} | {name: pa.int64() for name in ("jobs", "jobs_running")}
    schema = pa.schema([(name, kinds.get(name, pa.float64())) for name in HEAD])
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(flat_rows(table)), schema=schema), out)
    return out.getvalue()


def _flat(row: MetricsRow) -> dict[str, Any]:
    hours = row.hours
    cells: dict[str, float | None] = {}
    for name in COLUMNS:
        cell = row.cells.get(name)
        cells |= {name: cell.value if cell else None, f"{name}_gpu_hours": cell.hours if cell else 0.0}
    return {
        "row": row.key,
        "job_name": row.job_name,
        "user": row.user,
        "account": row.account,
        "partition": row.partition,
        "jobs": row.jobs,
        "jobs_running": row.running,
        **dict(zip(_HOURS, (hours.allocated, hours.measured, *_parts(row), hours.coverage), strict=True)),
        **cells,
        "gpu_models": _listed(name for name, _ in row.models),
        "utilization_metric": row.utilization_metric,
        "findings": _listed(f"{use.id}:{use.gpu_hours:.3f}" for use in row.findings),
        "gpu_hours_estimated": row.estimated_hours,
        "gpu_hours_shared": row.shared_hours,
    }


def _parts(row: MetricsRow) -> tuple[float | None, ...]:
    return (row.hours.used, row.hours.idle, row.hours.wasted)


def _listed(texts: Iterable[str]) -> str:
    return "; ".join(texts)
