"""A value of a tool as lines: single facts first, then each list as a table. Units stand in the heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from data.words import duration, gib, number, of, percent
from terminal.tables import Column, line, table

# Of a table, on a narrow screen and on a wide one.
_COLUMNS, _MOST_COLUMNS = 5, 8
_ENDS: Mapping[str, Callable[[float], str]] = {"_ratio": percent, "_seconds": duration, "_bytes": gib}
_AMOUNTS = {"_gpu_hours": "GPU-h", "_watts": "W", "_celsius": "°C", "_kwh": "kWh", "_bytes_per_second": "bytes/s"}


def value_lines(value: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    """All that the value says, lists within rows left out."""
    for key, one in value.items():
        if not isinstance(one, dict | list) and one is not None:
            yield line(f"{_title(key)}: ", (shown(key, one), "bold"))
        elif isinstance(one, list) and one and not isinstance(one[0], dict):
            yield line(f"{_title(key)}: ", ", ".join(str(word) for word in one))
    for key, one in value.items():
        yield from _below(key, one, width)


def shown(key: str, value: Any) -> str:
    """One value with its unit."""
    if value is None or isinstance(value, str):
        return f"{value[:10]} {value[11:16]} UTC" if value and key.endswith("_at") else value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    form = next((form for end, form in _ENDS.items() if key.endswith(end)), None)
    if form is not None:
        return form(value)
    unit = next((unit for end, unit in _AMOUNTS.items() if key.endswith(end)), "")
    decimals = 0 if isinstance(value, int) or abs(value) >= 99.95 else 1
    return f"{number(value, decimals)} {unit}".strip()


def _below(key: str, one: Any, width: int) -> Iterator[RenderableType]:
    if isinstance(one, list) and one and isinstance(one[0], dict):
        yield from _table(key, one, len(one), width)
    elif isinstance(one, dict) and "rows" in one:
        yield from _table(key, one["rows"], one["rows_total"], width)
    elif isinstance(one, dict) and one:
        yield Text()
        yield line((_title(key), "bold"))
        yield from value_lines(one, width)


def _table(key: str, rows: Sequence[Mapping[str, Any]], total: int, width: int) -> Iterator[RenderableType]:
    yield Text()
    yield line((_title(key), "bold"), f"  {of(len(rows), total, 'row')}")
    if not rows:
        return
    names = [name for name in rows[0] if any(_is_plain(row.get(name)) for row in rows)][:_MOST_COLUMNS]
    columns = [
        Column(_title(name).upper(), _is_number(rows, name), place >= _COLUMNS) for place, name in enumerate(names)
    ]
    yield table(columns, ([shown(name, _cell(row.get(name))) for name in names] for row in rows), width)


def _cell(value: Any) -> Any:
    return value if _is_plain(value) else None


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _is_number(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(isinstance(row.get(name), int | float) and not isinstance(row.get(name), bool) for row in rows)


def _title(key: str) -> str:
    end = next((end for end in (*_ENDS, *_AMOUNTS, "_at") if key.endswith(end)), "")
    words = (key.removesuffix(end) or key).replace("_", " ").strip()
    return words[:1].upper() + words[1:]
