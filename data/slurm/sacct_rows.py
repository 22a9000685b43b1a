"""Cut delimited output of sacct into rows, also where a user's text holds a line break."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from data.errors import SourceGarbled
from data.model import Rows
from data.slurm.broken_rows import read_rows

Row = Mapping[str, str]

_JOB_ID: Final = re.compile(r"\d+(?:_(?:\d+|\[[^\]]*\]))?(?:\+\d+)?(?:\.\S+)?")


def table_rows(output: str, fields: Sequence[str], delimiter: str) -> Rows[Row]:
    """Rows by field name. A row of too few columns goes on in the next line, for texts hold line breaks.

    One of too many is broken: where the delimiter stands in a text, nothing tells which column it belongs to.
    Broken rows are counted and named; SourceGarbled when there is text and every row is.
    """
    if "JobID" not in fields:
        raise SourceGarbled("without the column JobID, sacct's rows belong to no job", hint="ask sacct for JobID")
    read = read_rows(_raw_rows(output, fields, delimiter), lambda raw: _row(raw, fields, delimiter), _name)
    if read.broken and not read.rows:
        raise SourceGarbled(
            f"no line of sacct's output has the {len(fields)} columns asked for: {read.broken_examples[0]}",
            hint="run sacct by hand as the user that the product runs as",
        )
    return read


def _raw_rows(output: str, fields: Sequence[str], delimiter: str) -> Iterator[str]:
    width, id_column = len(fields) - 1, fields.index("JobID")
    header = delimiter.join(fields).lower()
    pending: list[str] = []
    seen = 0
    for line in output.split("\n"):
        if line.removesuffix(delimiter).lower() == header or (not pending and not line.strip()):
            continue
        columns = line.split(delimiter)
        if pending and len(columns) > width and _JOB_ID.fullmatch(columns[id_column].strip()):
            yield "\n".join(pending)
            pending, seen = [], 0
        pending.append(line)
        seen += len(columns) - 1
        if seen >= width:
            yield "\n".join(pending)
            pending, seen = [], 0
    if pending:
        yield "\n".join(pending)


def _row(raw: str, fields: Sequence[str], delimiter: str) -> Row:
    columns = raw.split(delimiter)
    if len(columns) == len(fields) + 1 and not columns[-1]:
        columns.pop()
    if len(columns) != len(fields):
        raise SourceGarbled(f"it has {len(columns)} columns, not {len(fields)}")
    row = dict(zip(fields, columns, strict=True))
    if not _JOB_ID.fullmatch(row["JobID"].strip()):
        raise SourceGarbled(f"{row['JobID'][:40]!r} is not a job id")
    return row | {"JobID": row["JobID"].strip()}


def _name(raw: str) -> str:
    return f"row {raw[:30]!r}"
