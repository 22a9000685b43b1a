"""How a dataset is written into Parquet: for readers, who are many, rather than for the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from data.history.datasets import Dataset

ROWS_IN_GROUP = 1 << 17


def encoding(dataset: Dataset) -> dict[str, Any]:
    """Options for `pyarrow.parquet.write_table`.

    Rows that reports add up are in LZ4, with a dictionary for texts only: numbers of a day hardly repeat. Against
    Zstandard and a dictionary for everything, a report takes a third less time and the disk a tenth more. The parts of
    the snapshots, one row each and large, are read seldom: Zstandard.
    """
    options: dict[str, Any] = {"write_page_checksum": True}
    if dataset.part == "time":
        return {**options, "compression": "zstd", "row_group_size": 1}
    texts = [path for field in dataset.schema for path in _texts(field)]
    return {**options, "compression": "lz4", "use_dictionary": texts, "row_group_size": ROWS_IN_GROUP}


def _texts(field: pa.Field, above: str = "") -> Iterator[str]:
    """The paths of the texts in a column, as Parquet writes them."""
    path = above + field.name
    if pa.types.is_list(field.type):
        yield from _texts(field.type.value_field.with_name("element"), f"{path}.list.")
    elif pa.types.is_struct(field.type):
        for one in field.type:
            yield from _texts(one, f"{path}.")
    elif pa.types.is_string(field.type):
        yield path
