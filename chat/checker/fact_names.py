"""What the fields of a result are of: their names by kind, the first of them, and the length of their time. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

# Keys whose values are names, and of which kind of thing; in a row the first one says what the row is of.
NAME_KEYS = {
    "job": "job", "job_id": "job", "other_job_id": "job", "device": "device", "node": "node", "user": "user",
    "account": "account", "partition": "partition", "model": "model", "qos": "qos", "department": "department",
    "application": "application", "gpus_of_job": "size", "size": "size", "begins_at": "day", "day": "day",
}  # fmt: skip
_LISTS = {"jobs": "job", "nodes": "node", "models": "model", "partitions": "partition", "users": "user"}
_BY_TOOL = {"node": "node", "cluster_status": "partition"}  # a plain `name` is of this kind
ROW_NAMES = {"partitions": "partition"}
_PERIOD = ("from_at", "until_at")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def own_of(fields: Mapping[str, Any], tool: str) -> tuple[str, str] | None:
    """The first name among the fields."""
    for key, value in fields.items():
        if key in NAME_KEYS and isinstance(value, str) and value:
            return NAME_KEYS[key], _day(value) if NAME_KEYS[key] == "day" else value
        if key == "name" and tool in _BY_TOOL and isinstance(value, str):
            return _BY_TOOL[tool], value
    return None


def names_of(fields: Mapping[str, Any], tool: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for key, value in fields.items():
        kind = NAME_KEYS.get(key) or _LISTS.get(key) or (_BY_TOOL.get(tool) if key == "name" else None)
        texts = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
        names = frozenset(_day(text) if kind == "day" else text for text in texts if isinstance(text, str) and text)
        if kind and names:
            found[kind] = found.get(kind, frozenset()) | names
        if kind == "device":  # h001/0 is on node h001
            nodes = frozenset(name.partition("/")[0] for name in names if "/" in name)
            found |= {"node": nodes} if nodes else {}
    return found


def _day(text: str) -> str:
    """The date in a time or in a day told with its weekday."""
    found = _DATE.search(text)
    return found[0] if found else text[:10]


def seconds_of(fields: Mapping[str, Any], above: float | None) -> float | None:
    """The length of the time that fields are of: from and until, or a window."""
    window = fields.get("window_seconds")
    if isinstance(window, int | float):
        return float(window)
    times = [fields.get(key) for key in _PERIOD]
    if not all(isinstance(time, str) for time in times):
        return above
    try:
        first, last = (datetime.fromisoformat(str(time)) for time in times)
    except ValueError:
        return above
    return (last - first).total_seconds()
