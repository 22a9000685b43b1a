"""From sums by raw group to rows: accounts with their parents, departments, applications; labels. Pure but for SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from data.applications import application_of
from data.queries.history.groups import SIZES, Group
from data.queries.history.narrowing import size_of
from data.queries.history.question import WEEKDAYS, Question
from data.queries.history.relations import KEYS, PATH_SEPARATOR

Table = Any

Sums = dict[str, float | None]
_COLUMN_OF = {
    Group.USER: "user",
    Group.PARTITION: "partition",
    Group.QOS: "qos",
    Group.MODEL: "gpu_model",
    Group.STATE: "state",
    Group.NODE: "node",
    Group.DAY: "bucket",
    Group.WEEK_HOUR: "bucket",
}
NO_NAME = "(none)"
NO_DEPARTMENT = "(no department)"


@dataclass(frozen=True, slots=True)
class Place:
    """A group of the report: its key, and for an account its place in the tree."""

    key: str | None
    label: str
    level: int | None = None
    parent: str | None = None


def raw_group(group: Group, parts: Table) -> dict[str, Any]:
    """The columns to add up by, for one kind of group."""
    if group is Group.NONE:
        return {}
    if group is Group.JOB:
        return {name: parts[name] for name in KEYS}
    if group in (Group.ACCOUNT, Group.DEPARTMENT):
        return {"path": parts.path}
    if group is Group.APPLICATION:
        return {"name": parts.name}
    if group is Group.SIZE:
        return {"size": size_of(parts.gpu_count)}
    return {"key": parts[_COLUMN_OF[group]]}


def places_of(question: Question, raw: Mapping[str, Any]) -> tuple[Place, ...]:
    """The groups to which a raw group adds: several for an account, one for everything else."""
    query = question.query
    if query.by is Group.ACCOUNT:
        return account_places(raw["path"], query.account_level)
    if query.by is Group.DEPARTMENT:
        name = question.department_of(raw["path"])
        return (Place(name, name or NO_DEPARTMENT),)
    if query.by is Group.APPLICATION:
        name = application_of(raw["name"] or "", question.name_pattern)
        return (Place(name, name),)
    return (place_of(query.by, raw),)


def keys_of(question: Question, raw: Mapping[str, Any]) -> set[str | None]:
    """The keys of the groups to which a raw group adds, each once."""
    return {place.key for place in places_of(question, raw)}


def place_of(group: Group, raw: Mapping[str, Any]) -> Place:
    if group is Group.NONE:
        return Place(None, "All")
    if group is Group.JOB:
        return Place("/".join(_key_text(raw[name]) for name in KEYS), str(raw["job_id"]))
    key = raw["size"] if group is Group.SIZE else raw["key"]
    return Place(key, _label(group, key))


def account_places(path: str | None, level: int | None) -> tuple[Place, ...]:
    """One place per level of the account's path; with `level` only that one (the lowest there is)."""
    names = [name for name in (path or "").split(PATH_SEPARATOR) if name]
    if not names:
        return (Place(None, NO_NAME, 1),)
    found = tuple(
        Place(name, name, number, names[number - 2] if number > 1 else None) for number, name in enumerate(names, 1)
    )
    return found if level is None else (found[min(level, len(found)) - 1],)


def add(sums: Sums, name: str, value: float | None) -> None:
    """A null adds nothing, and a sum of nulls is null."""
    before = sums.get(name)
    sums[name] = before if value is None else value + (before or 0.0)


def ordered(places: Iterable[Place], group: Group) -> list[Place]:
    """In the order of the group itself: by name, day, hour of the week, size."""
    if group is Group.SIZE:
        return sorted(places, key=lambda place: SIZES.index(place.key) if place.key in SIZES else len(SIZES))
    return sorted(places, key=lambda place: (place.key is None, place.key or ""))


def _label(group: Group, key: str | None) -> str:
    if key is None or key == "":
        return NO_NAME
    if group is Group.WEEK_HOUR:
        weekday, hour = key.split(" ")
        return f"{WEEKDAYS[int(weekday)]} {hour}:00"
    if group is Group.DAY:
        return f"{WEEKDAYS[date.fromisoformat(key).weekday()]} {key}"
    return key


def _key_text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
