"""Single values of a CSV, as accounting tools write them; Slurm's own forms are among them. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from data.errors import BadRequest, SourceGarbled
from data.history.csv_map import FIELDS, CsvColumn, CsvMap, Kind
from data.slurm.hosts import hostlist
from data.slurm.job_states import job_state
from data.slurm.scalars import duration_seconds, is_blank, memory_bytes

Value = TypeVar("Value")
_NOTHING: Final = frozenset({"-", "na", "nan", "nat", "unlimited"})


def value_of(name: str, row: Mapping[str, str], column: CsvColumn, given: CsvMap) -> Any:
    """What a row says of a field, None where it says nothing. Raises BadRequest for what cannot be read."""
    text = row.get(column.column) if column.value is None else str(column.value)
    text = (text or "").strip()
    text = column.words.get(text, text)
    kind = FIELDS[name].kind
    if not text or (kind in (Kind.NUMBER, Kind.TIME) and (is_blank(text) or text.lower() in _NOTHING)):
        return None
    if kind is Kind.TEXTS:
        return _list(name, text, column.separator)
    if kind is Kind.TEXT:
        return job_state(text).state if name == "state" else text
    return _time(name, text, given) if kind is Kind.TIME else _number(name, text, column.scale)


def _list(name: str, text: str, separator: str) -> tuple[str, ...]:
    """Its parts; a list of hosts as Slurm writes it has brackets, or commas whatever the separator."""
    if name == "nodes" and "[" in text:
        return _slurms(name, text, hostlist)
    parts = text.replace(",", separator) if name == "nodes" else text
    return tuple(dict.fromkeys(part.strip() for part in parts.split(separator) if part.strip()))


def _number(name: str, text: str, scale: float) -> float | None:
    """A plain number times the map's scale; a duration or an amount of memory with its unit needs none."""
    if name.endswith("_seconds") and ":" in text:
        return _slurms(name, text, duration_seconds)
    if name.endswith("_bytes") and text[-1:] in ("c", "n"):
        raise BadRequest(f"{name} is {text[:40]!r}, which is of each CPU or node")
    if name.endswith("_bytes") and text[-1:].isalpha():
        return _slurms(name, text, partial(memory_bytes, bare_unit=1))
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadRequest(f"{name} is {text[:40]!r}, not a number")
    return number * scale


def _time(name: str, text: str, given: CsvMap) -> datetime | None:
    """Seconds since 1970 (0 = never), or ISO 8601; without a zone in the map's."""
    try:
        if text.replace(".", "", 1).isdigit():
            return datetime.fromtimestamp(float(text), UTC) if float(text) else None
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(given.timezone))).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as err:
        raise BadRequest(f"{name} is {text[:40]!r}, not a time") from err


def _slurms(name: str, text: str, read: Callable[[str], Value]) -> Value:
    try:
        return read(text)
    except SourceGarbled as err:
        raise BadRequest(f"{name}: {err}") from err
