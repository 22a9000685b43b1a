"""The page about the history's files, made from the column tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from data.history.columns import SCHEMA_VERSION, Column
from data.history.csv_map import FIELDS
from data.history.datasets import DATASETS, Dataset
from data.history.pseudonyms import FORGOTTEN, PREFIX

_TITLES = {
    "jobs": "one row per attempt of an ended job, on the UTC day of its end",
    "usage": "one row per attempt and UTC hour, running jobs too",
    "allocations": "which device an attempt held, one row per attempt, device and UTC day",
    "snapshots": "the cluster every few minutes: states of nodes and their reasons, the queue, device to job",
}
_FORM = f"""# The history's files

Made by `make docs` from the tables in `data/history/*_columns.py`.

Parquet under `history.directory`: `NAME/day=YYYY-MM-DD/*.parquet` (hive partitions, days of UTC). Every file is
replaced whole; names that begin with a dot are being written. Form {SCHEMA_VERSION}: it stands in the column
`schema_version` and in each file's metadata (`fullwarp_schema_version`). Later forms add columns; readers take all
earlier ones.

- Ratios are 0..1, times aware UTC. **Null is not measured or not known, never 0.** A column without a unit is a name,
  a flag or a count.
- An attempt is `cluster`, `job_id`, `submit_time`, `start_time`: a requeued job has several. **Of rows with the same
  key the one with the newest `collected_at` counts**: a row that moves to another day is for a moment in both.
- A range is `start < until and end > since`. Questions about time read `usage/`, in which jobs that cross an edge
  have only the hours within; questions about jobs read `jobs/`.
- `gpu_hours_allocated` = `gpu_hours_measured` + not measured; measured = used + wasted. Means over jobs are weighted
  by `gpu_hours_measured`.
- A user is a name, a pseudonym (`{PREFIX}` and 12 hexadecimal digits) or `{FORGOTTEN}`.
- `collector-CLUSTER.json` is how far the collector came; `damaged/` holds files that could not be read.

## Read them without Fullwarp

GPU-hours of each user in June, in DuckDB:

```sql
SELECT
    user,
    sum(gpu_hours_allocated) AS allocated,
    sum(gpu_hours_used) / sum(gpu_hours_measured) AS utilization
FROM (
    SELECT *
    FROM read_parquet('/var/lib/fullwarp/history/usage/*/*.parquet', hive_partitioning = true, union_by_name = true)
    WHERE day BETWEEN '2026-06-01' AND '2026-06-30'
    WINDOW newest AS (PARTITION BY cluster, job_id, submit_time, start_time, hour ORDER BY collected_at DESC)
    QUALIFY row_number() OVER newest = 1
)
GROUP BY user ORDER BY allocated DESC;
```

pandas:

```python
import pandas as pd

key = ["cluster", "job_id", "submit_time", "start_time"]
jobs = pd.read_parquet("/var/lib/fullwarp/history/jobs", filters=[("day", ">=", "2026-06-01")])
jobs = jobs.sort_values("collected_at").drop_duplicates(key, keep="last")
```

Polars:

```python
import polars as pl

key = ["cluster", "job_id", "submit_time", "start_time"]
jobs = (
    pl.scan_parquet("/var/lib/fullwarp/history/jobs/**/*.parquet", hive_partitioning=True, missing_columns="insert")
    .sort("collected_at")
    .unique(key, keep="last")
    .group_by("account")
    .agg(pl.sum("gpu_hours_allocated"))
    .collect()
)
```

Spark:

```python
from pyspark.sql import Window, functions as F

newest = Window.partitionBy("cluster", "job_id", "submit_time", "start_time").orderBy(F.desc("collected_at"))
jobs = spark.read.option("mergeSchema", True).parquet("/var/lib/fullwarp/history/jobs")
jobs = jobs.withColumn("n", F.row_number().over(newest)).where("n = 1")
```
"""


def history_page() -> str:
    """docs/reference/history.md."""
    return "".join([_FORM, *(part for dataset in DATASETS.values() for part in _dataset(dataset)), *_csv()])


def type_words(kind: pa.DataType) -> str:
    """An Arrow type in words: text, whole number, list of {node text, ...}."""
    if pa.types.is_list(kind):
        return f"list of {type_words(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{field.name} {type_words(field.type)}" for field in kind) + "}"
    if pa.types.is_timestamp(kind):
        return "time"
    if pa.types.is_boolean(kind):
        return "true or false"
    return "text" if pa.types.is_string(kind) else "whole number" if pa.types.is_integer(kind) else "number"


def _dataset(dataset: Dataset) -> Iterator[str]:
    title = _TITLES[dataset.name]
    yield f"\n## {dataset.name}/\n\n{title[0].upper()}{title[1:]}. "
    yield f"Key: {', '.join(f'`{name}`' for name in dataset.key)}. Day: that of `{dataset.day_column}`.\n\n"
    yield "| column | type | unit | meaning |\n|---|---|---|---|\n"
    for column in dataset.columns:
        yield _row(column)


def _row(column: Column) -> str:
    kind = type_words(column.type) + ("" if column.is_key else " or null")
    return f"| `{column.name}` | {kind} | {column.unit} | {column.help} |\n"


def _csv() -> Iterator[str]:
    yield "\n## CSV\n\nFields that `fullwarp collect --from-csv FILE --columns MAP.toml` takes "
    yield "([how](../how-to/collect-history.md#another-accounting-csv)). In `[columns]` each is a column's name, or a "
    yield "table of `column`, `value` (the same in every row), `scale` (numbers), `separator` (lists) and `words` (one "
    yield "text for another).\n\n| field | form | meaning |\n|---|---|---|\n"
    for field in FIELDS.values():
        yield f"| `{field.name}` | {field.kind}{', required' if field.is_required else ''} | {field.help} |\n"
