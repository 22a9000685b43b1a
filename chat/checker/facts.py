"""The numbers of a tool's result as facts: value, unit, what they are of, and over which time. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat.checker.fact_names import NAME_KEYS, ROW_NAMES, names_of, own_of, seconds_of
from chat.checker.lines import asked_in
from chat.checker.numbers import figures_in
from chat.checker.periods import periods_in
from chat.checker.words import measures_of_key, measures_of_text
from chat.model import ToolResult
from chat.units import Kind, Unit, unit_of_key

Names = Mapping[str, frozenset[str]]

# Texts that people wrote: no number in them is a fact.
_FOREIGN = frozenset({"job_name", "comment", "admin_comment", "reason", "script", "script_lines", "features_requested"})
_OWN_WORDS = re.compile(r"(?:checks|notes)\.rows\[\d+\]")  # what is said there the product wrote itself

DESCRIBED = ("described", "")  # what such facts are of: nothing that has a name
DIFFERENCE = ("difference", "")  # of two that are compared
_GENERAL = frozenset({"explain", "site_documents"})  # what holds for all
_LEFT_OVER = (  # a whole, what is gone of it, a key for the rest, and what the rest is called
    ("time_limit_seconds", "elapsed_seconds", "left_seconds", frozenset({"left"})),
    ("cpus", "cpus_allocated", "cpus", frozenset({"free"})),
    ("memory_bytes", "memory_allocated_bytes", "memory_bytes", frozenset({"free"})),
)
_DIFFERENCE = "second_minus_first"
_DESCRIBED = {
    "gpu_memory_gib": Unit(Kind.BYTES, 2.0**30),
    "memory_gib": Unit(Kind.BYTES, 2.0**30),
    "hours": Unit(Kind.SECONDS, 3600.0),
    "cpus": Unit(Kind.COUNT, noun="cpus"),
}
_PAUSE = re.compile(r"[,;:](?!\d)|\.(?=\s|$)")


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


def _both_ways(fact: Fact) -> Iterator[Fact]:
    """A difference is told as more of the one or less of the other."""
    yield from (replace(fact, own=DIFFERENCE, value=value) for value in (abs(fact.value), -abs(fact.value)))


def own_names(result: ToolResult) -> tuple[str, frozenset[str]] | None:
    """What a whole result is of: one, or two that are compared; None for a list or the cluster."""
    own = own_name(result)
    if own is not None or result.value is None:
        return None if own is None else (own[0], frozenset({own[1]}))
    two = [own_of(part, result.tool) for part in (result.value.get(key) for key in ("first", "second")) if part]
    names = [one for one in two if one is not None]
    advice = result.value.get("advice")
    if isinstance(advice, Mapping) and isinstance(advice.get("partition"), str):
        return "partition", frozenset({advice["partition"]})
    return (names[0][0], frozenset(name for _, name in names)) if len(names) == 2 else None


def own_name(result: ToolResult) -> tuple[str, str] | None:
    """What a whole result is of: one job, node, user; None for a list or the cluster."""
    return None if result.value is None else own_of(result.value, result.tool)


def _of_result(result: ToolResult) -> Iterator[Fact]:
    assert result.value is not None
    asked = names_of({key: value for key, value in result.arguments.items() if value}, result.tool)
    own = own_name(result) or next(((kind, min(names)) for kind, names in asked.items()), None)
    own = DESCRIBED if result.tool in _GENERAL else own
    start = _Place(result.call_id, own=own, names=asked, seconds=seconds_of(result.value, None))
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
        fact = _fact(float(value), place)
        yield from _both_ways(fact) if _DIFFERENCE in place.path else (fact,)
    elif isinstance(value, str) and "#SBATCH " in value:
        yield from (_asked(number, unit, place) for number, unit in asked_in(value))
    elif isinstance(value, str) and " " in value:  # a sentence; one word is a name, a time or a version
        yield from _facts_in_text(value, place)


def _walk_row(row: Mapping[str, Any], place: _Place, tool: str) -> Iterator[Fact]:
    holder = re.findall(r"(\w+)\.rows\[", place.path)
    own = own_of(row, tool)
    if own is None and holder and holder[-1] in ROW_NAMES and isinstance(row.get("name"), str):
        own = (ROW_NAMES[holder[-1]], row["name"])
    is_of_job = place.own is not None and place.own[0] == "job"
    if own is None and isinstance(row.get("finding"), str) and not is_of_job:  # of many jobs, so of itself
        own = ("finding", row["finding"])
    yield from _walk_fields(row, replace(place, own=own or place.own), tool, own)


def _walk_fields(
    fields: Mapping[str, Any], place: _Place, tool: str, own: tuple[str, str] | None = None
) -> Iterator[Fact]:
    own = own or own_of(fields, tool)
    names = {**place.names, **names_of(fields, tool), **({own[0]: frozenset({own[1]})} if own else {})}
    inner_place = replace(place, own=own or place.own, names=names, seconds=seconds_of(fields, place.seconds))
    yield from _left_over(fields, inner_place)
    for key, inner in fields.items():
        if _is_foreign(key, place.path) or (key in NAME_KEYS and not isinstance(inner, int | float)):
            continue
        path = f"{place.path}.{key}" if place.path else key
        yield from _walk(inner, replace(inner_place, path=path, key=key), tool)


def _left_over(fields: Mapping[str, Any], place: _Place) -> Iterator[Fact]:
    """What a running job has left of its time limit, and what of a node's cores and memory is free."""
    for whole, part, key, measures in _LEFT_OVER:
        first, second = fields.get(whole), fields.get(part)
        is_over = part == "elapsed_seconds" and fields.get("state") != "RUNNING"
        if not is_over and isinstance(first, int | float) and isinstance(second, int | float):
            path = f"{place.path}.{whole}".removeprefix(".")
            yield replace(_fact(first - second, replace(place, path=path, key=key)), measures=measures)


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


def _asked(number: float, unit: Unit, place: _Place) -> Fact:
    return Fact(place.call_id, place.path, number, unit, place.own, place.names, place.seconds, frozenset())


def _facts_in_text(text: str, place: _Place) -> Iterator[Fact]:
    """Numbers in a sentence that the product itself wrote, such as the evidence of a finding."""
    periods = list(periods_in(text))
    seconds = periods[0][2] if periods else place.seconds
    for figure in figures_in(text, [(start, end) for start, end, _ in periods], is_exact=True):
        begin = max(match.end() for match in _PAUSE.finditer(f", {text}", 0, figure.start + 2)) - 2
        end = next((match.start() for match in _PAUSE.finditer(text, figure.end)), len(text))
        clause = text[max(0, begin) : end]
        unit = None if figure.unit is None else replace(figure.unit, factor=1.0)
        yield Fact(
            place.call_id, place.path, figure.readings[0].value, unit, place.own, place.names, seconds,
            measures_of_text(clause),
        )  # fmt: skip
