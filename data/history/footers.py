"""What a file's footer says of its rows, read once per file: enough to leave out files that cannot matter."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

_KEPT = 20_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Identity = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Footer:
    """`form` is the same for files with the same columns and types. Times are bounds over all rows; None = not said."""

    identity: Identity
    form: str
    rows: int
    first_start: datetime | None = None
    last_start: datetime | None = None
    last_end: datetime | None = None
    last_collected: datetime | None = None


def footer(path: Path) -> Footer:
    """Read a footer, or remember it. Raises OSError for a file that has vanished, pyarrow.ArrowException for damage."""
    status = path.stat()
    identity = (str(path), status.st_ino, status.st_mtime_ns, status.st_size)
    with _guard:
        if identity in _known:
            _known.move_to_end(identity)
            return _known[identity]
    found = _read(path, identity)
    with _guard:
        _known[identity] = found
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


_known: OrderedDict[Identity, Footer] = OrderedDict()
_guard = threading.Lock()


def _read(path: Path, identity: Identity) -> Footer:
    metadata = pq.read_metadata(path)
    schema = metadata.schema
    places = {schema.column(place).path: place for place in range(metadata.num_columns)}
    starts, ends, written = (_bounds(metadata, places.get(name)) for name in ("start_time", "end_time", "collected_at"))
    form = hashlib.sha256(str(schema).partition("\n")[2].encode()).hexdigest()
    return Footer(identity, form, metadata.num_rows, starts[0], starts[1], ends[1], written[1])


def _bounds(metadata: Any, place: int | None) -> tuple[datetime | None, datetime | None]:
    """The least and the largest value of a time column; (None, None) where any row group does not say."""
    low: list[int] = []
    high: list[int] = []
    for group in range(metadata.num_row_groups if place is not None else 0):
        found = metadata.row_group(group).column(place).statistics
        if found is None or not found.has_min_max or "timeUnit=microseconds" not in str(found.logical_type):
            return None, None
        low.append(found.min_raw)
        high.append(found.max_raw)
    return (
        (_EPOCH + timedelta(microseconds=min(low)), _EPOCH + timedelta(microseconds=max(high))) if low else (None, None)
    )
