"""The SQL of a view of the files of one dataset, in today's form. Pure, but for a look at one file's columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from data.history.columns import HOURS, RATE_METRICS, RATIO_METRICS, WHO
from data.history.datasets import DATASETS
from data.queries.history.day_files import Found, by_form

KEYS = DATASETS["jobs"].key
# The columns of `jobs` of which any report is made: the fewer there are, the faster a question is compiled and planned.
_OF_JOBS = frozenset(
    (
        *KEYS,
        *(column.name for column in (*WHO, *HOURS)),
        *(*RATIO_METRICS, *RATE_METRICS, "gpu_memory_used_bytes", "power_watts", "low_share", "high_share"),
        *("display_id", "name", "account_path", "gpu_count", "state", "nodes", "findings", "collected_at"),
        *("end_time", "eligible_time", "device_hours", "energy_joules", "cores", "elapsed_seconds", "cpu_seconds"),
        *("memory_used_bytes", "memory_allocated_bytes"),
    )
)


@lru_cache(maxsize=4)
def schema_used(dataset: str) -> pa.Schema:
    """The columns of a dataset that reports use."""
    schema = DATASETS[dataset].schema
    return pa.schema([field for field in schema if dataset != "jobs" or field.name in _OF_JOBS])


def view_of(found: Found, names: Sequence[str], where: str = "", *, newest: bool = False) -> str:
    """The rows of files (at least one), those that fit, with `newest` each key once."""
    parts = [_select(found.dataset, one, names) for one in by_form(found)]
    body = " UNION ALL ".join(parts) + (f" WHERE {where}" if where and len(parts) == 1 else "")
    if where and len(parts) > 1:
        body = f"SELECT * FROM ({body}) WHERE {where}"
    if not newest:
        return body
    key = ", ".join(DATASETS[found.dataset].key)
    return f"SELECT * FROM ({body}) QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY collected_at DESC) = 1"


def _select(dataset: str, found: Found, names: Sequence[str]) -> str:
    """The rows of files of one form; a column that it does not have is null."""
    there = {field.name for field in pq.read_schema(found.files.paths[0])}
    kinds = {field.name: _sql_type(field.type) for field in DATASETS[dataset].schema}
    columns = [f'"{name}"' if name in there else f'CAST(NULL AS {kinds[name]}) AS "{name}"' for name in names]
    paths = ", ".join(_text(str(path)) for path in found.files.paths)
    return f"SELECT {', '.join(columns)} FROM read_parquet([{paths}])"


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{_sql_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f'"{one.name}" {_sql_type(one.type)}' for one in kind) + ")"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMPTZ"
    words = {"string": "VARCHAR", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "uint8": "UTINYINT"}
    return words.get(str(kind), "BOOLEAN" if pa.types.is_boolean(kind) else "DOUBLE")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def time_sql(value: datetime) -> str:
    return f"TIMESTAMPTZ '{value.astimezone(UTC).isoformat()}'"
