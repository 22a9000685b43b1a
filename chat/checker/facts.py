"""The numbers of a tool's result as facts: value, unit, what they are of, and over which time. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from chat.checker.numbers import figures_in
from chat.checker.words import measures_of_key, measures_of_text, periods_in
from chat.model import ToolResult
from chat.units import Kind, Unit, unit_of_key

Names = Mapping[str, frozenset[str]]

# Keys whose values are names, and of which kind of thing; in a row the first one says what the row is of.
NAME_KEYS = {
    "job": "job", "job_id": "job", "other_job_id": "job", "device": "device", "node": "node", "user": "user",
    "account": "account", "partition": "partition", "model": "model", "qos": "qos", "department": "department",
    "application": "application", "gpus_of_job": "size", "size": "size", "begins_at": "day", "day": "day",
}  # fmt: skip
_LISTS = {"jobs": "job", "nodes": "node", "models": "model", "partitions": "partition", "users": "user"}
_BY_TOOL = {"node": "node", "cluster_status": "partition"}  # a plain `name` is of this kind
_ROW_NAMES = {"partitions": "partition"}
# Texts that people wrote: no number in them is a fact.
_FOREIGN = frozenset({"job_name", "comment", "admin_comment", "reason", "script", "script_lines", "features_requested"})
_OWN_WORDS = re.compile(r"(?:checks|notes)\.rows\[\d+\]")  # what is said there the product wrote itself
_PERIOD = ("from_at", "until_at")
DESCRIBED = ("described", "")  # what such facts are of: nothing that has a name
_DESCRIBED = {
    "gpu_memory_gib": Unit(Kind.BYTES, 2.0**30),
    "memory_gib": Unit(Kind.BYTES, 2.0**30),
    "hours": Unit(Kind.SECONDS, 3600.0),
    "cpus": Unit(Kind.COUNT, noun="cpus"),
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of a result. `own` names what it is of (empty = of the whole that was asked about), `names` what else
    stands with it; `seconds` is the length of its period, None where the result names none."""

    call_id: str
    path: str
    value: float
    unit: Unit | None
    own: tuple[str, str] | None
    names: Names
    seconds: float | None
    measures: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Place:
    call_id: str
    path: str = ""
    key: str = ""
    own: tuple[str, str] | None = None
    names: Names = field(default_factory=dict)
    seconds: float | None = None


def facts_of(results: Sequence[ToolResult]) -> list[Fact]:
    """All numbers of the results that did not fail, in the order of the results."""
    return [fact for result in results if result.value is not None for fact in _of_result(result)]


def own_name(result: ToolResult) -> tuple[str, str] | None:
    """What a whole result is of: one job, node, user; None for a list or the cluster."""
    return None if result.value is None else _own(result.value, result.tool)


def _of_result(result: ToolResult) -> Iterator[Fact]:
    assert result.value is not None
    asked = _names({key: value for key, value in result.arguments.items() if value}, result.tool)
    own = own_name(result) or next(((kind, min(names)) for kind, names in asked.items()), None)
    start = _Place(result.call_id, own=own, names=asked, seconds=_seconds(result.value, None))
    yield from _walk(result.value, start, result.tool)
    yield from _described(result)


def _described(result: ToolResult) -> Iterator[Fact]:
    """What was described to a tool that advises: 40 GiB of GPU memory, for 10 hours."""
    for key, unit in _DESCRIBED.items():
        value = result.arguments.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            path = f"arguments.{key}"
            yield Fact(
                result.call_id, path, value * unit.factor, replace(unit, factor=1.0), DESCRIBED, {}, None, frozenset()
            )


def _walk(value: Any, place: _Place, tool: str) -> Iterator[Fact]:
    if isinstance(value, Mapping):
        yield from _walk_fields(value, place, tool)
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            at = replace(place, path=f"{place.path}[{number}]")
            yield from _walk_row(inner, at, tool) if isinstance(inner, Mapping) else _walk(inner, at, tool)
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int | float):
        yield _fact(float(value), place)
    elif isinstance(value, str) and " " in value:  # a sentence; one word is a name, a time or a version
        yield from _facts_in_text(value, place)


def _walk_row(row: Mapping[str, Any], place: _Place, tool: str) -> Iterator[Fact]:
    holder = re.findall(r"(\w+)\.rows\[", place.path)
    own = _own(row, tool)
    if own is None and holder and holder[-1] in _ROW_NAMES and isinstance(row.get("name"), str):
        own = (_ROW_NAMES[holder[-1]], row["name"])
    is_of_job = place.own is not None and place.own[0] == "job"
    if own is None and isinstance(row.get("finding"), str) and not is_of_job:  # of many jobs, so of itself
        own = ("finding", row["finding"])
    yield from _walk_fields(row, replace(place, own=own or place.own), tool, own)


def _walk_fields(
    fields: Mapping[str, Any], place: _Place, tool: str, own: tuple[str, str] | None = None
) -> Iterator[Fact]:
    own = own or _own(fields, tool)
    names = {**place.names, **_names(fields, tool), **({own[0]: frozenset({own[1]})} if own else {})}
    inner_place = replace(place, own=own or place.own, names=names, seconds=_seconds(fields, place.seconds))
    for key, inner in fields.items():
        if _is_foreign(key, place.path) or (key in NAME_KEYS and not isinstance(inner, int | float)):
            continue
        path = f"{place.path}.{key}" if place.path else key
        yield from _walk(inner, replace(inner_place, path=path, key=key), tool)


def _is_foreign(key: str, path: str) -> bool:
    return key in _FOREIGN or (key == "says" and _OWN_WORDS.search(path) is None)


def _fact(value: float, place: _Place) -> Fact:
    parts = [part for part in re.split(r"[.\[]", place.path) if not part.rstrip("]").isdigit() and part != "rows"]
    within = next((part for part in reversed(parts[:-1]) if part), "")
    unit = unit_of_key(place.key, within)
    value = value * unit.factor
    return Fact(
        place.call_id, place.path, value, unit, place.own, place.names, place.seconds, measures_of_key(place.path)
    )


def _facts_in_text(text: str, place: _Place) -> Iterator[Fact]:
    """Numbers in a sentence that the product itself wrote, such as the evidence of a finding."""
    periods = list(periods_in(text))
    seconds = periods[0][2] if periods else place.seconds
    for figure in figures_in(text, [(start, end) for start, end, _ in periods]):
        clause = text[max(0, text.rfind(",", 0, figure.start)) : figure.end]
        unit = None if figure.unit is None else replace(figure.unit, factor=1.0)
        yield Fact(
            place.call_id, place.path, figure.readings[0].value, unit, place.own, place.names, seconds,
            measures_of_text(clause),
        )  # fmt: skip


def _own(fields: Mapping[str, Any], tool: str) -> tuple[str, str] | None:
    """The first name among the fields."""
    for key, value in fields.items():
        if key in NAME_KEYS and isinstance(value, str) and value:
            return NAME_KEYS[key], _day(value) if NAME_KEYS[key] == "day" else value
        if key == "name" and tool in _BY_TOOL and isinstance(value, str):
            return _BY_TOOL[tool], value
    return None


def _names(fields: Mapping[str, Any], tool: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for key, value in fields.items():
        kind = NAME_KEYS.get(key) or _LISTS.get(key) or (_BY_TOOL.get(tool) if key == "name" else None)
        texts = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
        names = frozenset(_day(text) if kind == "day" else text for text in texts if isinstance(text, str) and text)
        if kind and names:
            found[kind] = found.get(kind, frozenset()) | names
    return found


def _day(text: str) -> str:
    """The date in a time or in a day told with its weekday."""
    found = _DATE.search(text)
    return found[0] if found else text[:10]


def _seconds(fields: Mapping[str, Any], above: float | None) -> float | None:
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


def is_ratio(fact: Fact) -> bool:
    return fact.unit is not None and fact.unit.kind is Kind.RATIO
