"""The four tables of the history: what identifies a row and which of its times says in whose day's file it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from data.history.allocations_columns import ALLOCATIONS, ALLOCATIONS_SCHEMA
from data.history.columns import KEY, Column
from data.history.jobs_columns import JOBS, JOBS_SCHEMA
from data.history.snapshots_columns import SNAPSHOTS, SNAPSHOTS_SCHEMA
from data.history.usage_columns import USAGE, USAGE_SCHEMA

_ATTEMPT: Final = tuple(column.name for column in KEY)


@dataclass(frozen=True, slots=True)
class Dataset:
    """`key` names the columns that make a row unique, `day_column` the time whose UTC day names its folder.

    `part` is "day" where a day is one file, "hour" or "time" where it is written in parts until the day is over.
    """

    name: str
    columns: tuple[Column, ...]
    schema: pa.Schema
    key: tuple[str, ...]
    day_column: str
    part: str = "day"


DATASETS: Final = {
    dataset.name: dataset
    for dataset in (
        Dataset("jobs", JOBS, JOBS_SCHEMA, _ATTEMPT, "end_time"),
        Dataset("usage", USAGE, USAGE_SCHEMA, (*_ATTEMPT, "hour"), "hour", "hour"),
        Dataset(
            "allocations", ALLOCATIONS, ALLOCATIONS_SCHEMA, (*_ATTEMPT, "node", "device", "from_time"), "from_time"
        ),
        Dataset("snapshots", SNAPSHOTS, SNAPSHOTS_SCHEMA, ("cluster", "time"), "time", "time"),
    )
}
