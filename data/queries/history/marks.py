"""Marks that stand for the values of a filter in a compiled question, so that one text serves everybody who asks it.

A mark is a text of characters that no name has; the engine's text holds it as a literal, in whose place the values are
put as literals, all in one pass: nothing that was put in is looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from data.model import Role, Viewer, Visibility
from data.queries.history.model import HistoryFilter
from data.queries.history.narrowing import pattern_of

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"'{_OPEN}([a-z_]+ ?[0-9]*){_CLOSE}'")
# Compared with each value on its own; the others with a list.
_ONE_BY_ONE = ("accounts", "findings", "applications", "nodes")
_AS_LIST = ("users", "partitions", "qos", "models", "states", "sizes")


@dataclass(frozen=True, slots=True)
class Marked:
    """A viewer and a filter with marks in the place of names, and what each mark stands for."""

    viewer: Viewer
    filter: HistoryFilter
    values: Mapping[str, tuple[str, ...]]


def marked(viewer: Viewer, wanted: HistoryFilter, department_accounts: Iterable[str]) -> Marked:
    values: dict[str, tuple[str, ...]] = {"viewer": (viewer.user,)}
    changes: dict[str, Any] = {}
    for name in _AS_LIST:
        if given := getattr(wanted, name):
            values[name] = tuple(sorted(given))
            changes[name] = frozenset({mark(name)})
    for name in _ONE_BY_ONE:
        given = sorted(getattr(wanted, name))
        values |= {f"{name} {number}": (value,) for number, value in enumerate(given)}
        changes[name] = frozenset(mark(f"{name} {number}") for number in range(len(given)))
    values |= {name: (pattern_of(value),) for name, (value, *_) in values.items() if name.startswith("applications ")}
    values["department"] = tuple(sorted(department_accounts))
    changes["departments"] = frozenset({mark("department")} if wanted.departments else ())
    asker = _asker(viewer, values)
    kept: Any = {name: getattr(wanted, name) for name in ("utilization", "gpu_memory_gib")}
    return Marked(asker, HistoryFilter(**changes, **kept), values)


def _asker(viewer: Viewer, values: dict[str, tuple[str, ...]]) -> Viewer:
    """One viewer for all who may see the same in the same way."""
    if viewer.is_staff or viewer.visibility is Visibility.ALL:
        return Viewer(mark("viewer"), Role.STAFF)
    accounts = viewer.accounts if viewer.visibility is Visibility.ACCOUNT else frozenset()
    return Viewer(
        mark("viewer"),
        viewer.role,
        _marked(values, "viewer_accounts", accounts),
        _marked(values, "viewer_coordinated_accounts", viewer.coordinated_accounts),
        viewer.visibility,
    )


def _marked(values: dict[str, tuple[str, ...]], name: str, given: frozenset[str]) -> frozenset[str]:
    values[name] = tuple(sorted(given))
    return frozenset({mark(name)} if given else ())


def mark(name: str) -> str:
    return f"{_OPEN}{name}{_CLOSE}"


def filled(sql: str, values: Mapping[str, tuple[str, ...]]) -> str:
    """The text with the values as literals; a mark without values becomes NULL, which nothing equals."""
    return _MARK.sub(lambda found: ", ".join(map(_literal, values.get(found[1], ()))) or "NULL", sql)


def _literal(value: str) -> str:
    return "'" + value.replace("\x00", "").replace("'", "''") + "'"
