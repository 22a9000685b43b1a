"""Puts the fragments of tool calls together, as servers really send them. Pure.

An index may be missing, null or the same for all calls; an id may come once, in every fragment or never; arguments
come in pieces, whole, as an object, empty or null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from chat.characters import whole, whole_within

MOST_CALLS = 100  # of one answer; those that follow are left out
MOST_ARGUMENTS = 100_000  # characters
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call that the model asked for; `arguments` None = they cannot be read, and then it is never run."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    text: str = ""
    whole: dict[str, Any] | None = None

    def add(self, arguments: object) -> None:
        if isinstance(arguments, dict):
            self.whole = {**(self.whole or {}), **arguments}
        elif isinstance(arguments, str) and len(self.text) <= MOST_ARGUMENTS:
            self.text += arguments

    @property
    def is_complete(self) -> bool:
        return self.whole is not None or bool(self.text.strip() and read_arguments(self.text) is not None)


@dataclass(slots=True)
class CallPieces:
    """The calls of one answer, in the order of their first fragments."""

    _calls: list[_Call] = field(default_factory=list)

    def add(self, fragments: object) -> None:
        """Take the `tool_calls` of one chunk; what is no fragment is left out."""
        for fragment in fragments if isinstance(fragments, list) else ():
            if isinstance(fragment, dict):
                self._take(fragment)

    def _take(self, fragment: Mapping[str, Any]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        index = fragment["index"] if isinstance(fragment.get("index"), int) else None
        call = self._call_of(index, _text(fragment.get("id")), _text(function.get("name")))
        if call is not None:
            call.add(function.get("arguments"))

    def _call_of(self, index: int | None, given_id: str, name: str) -> _Call | None:
        """The call that a fragment is of; None where that would be one too many."""
        known = next((call for call in reversed(self._calls) if index is None or call.index == index), None)
        if known is None or _begins(known, given_id, name):
            if len(self._calls) >= MOST_CALLS:
                return None
            known = _Call(index, given_id, name)
            self._calls.append(known)
        known.id, known.name = known.id or given_id, known.name or name
        return known

    def wanted(self) -> tuple[WantedCall, ...]:
        """The calls; one without an id gets its place as one."""
        return tuple(
            WantedCall(call.id or f"call_{place}", call.name, read_arguments(call.text, call.whole))
            for place, call in enumerate(self._calls)
        )


def _begins(known: _Call, given_id: str, name: str) -> bool:
    """Whether a fragment that names a function is a call of its own: it has another id, or the one before is whole."""
    if not name:
        return False
    if given_id and known.id:
        return given_id != known.id
    return bool(known.name) and known.is_complete


def _text(value: object) -> str:
    return whole(value) if isinstance(value, str) else ""


def read_arguments(text: str, given: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """The arguments as an object: {} for blank or null; None where they cannot be read, or are longer or deeper than
    any tool's. JSON inside of JSON text and raw control characters are taken, as some servers send them."""
    try:
        found = given if given is not None else _loaded(text)
        found = whole_within(_loaded(found) if isinstance(found, str) else found, _DEEPEST)
    except (ValueError, RecursionError):
        return None
    return {} if found is None else found if isinstance(found, dict) else None


def _loaded(text: str) -> Any:
    if len(text) > MOST_ARGUMENTS:
        raise ValueError("too long")
    return json.loads(text, strict=False) if text.strip() else {}


def leaked_calls(text: str) -> tuple[WantedCall, ...]:
    """Calls that the model wrote as text instead of calling; empty where the text is none."""
    bare = text.strip()
    for opening, closing in (("<tool_call>", "</tool_call>"), ("```json", "```"), ("```", "```")):
        if bare.startswith(opening):
            bare = bare.removeprefix(opening).removesuffix(closing).strip()
    try:
        found = json.loads(bare, strict=False)
    except (ValueError, RecursionError):
        return ()
    rows = found if isinstance(found, list) else [found]
    return tuple(islice(_named(rows), MOST_CALLS))


def _named(rows: Iterable[object]) -> Iterable[WantedCall]:
    for place, row in enumerate(rows):
        inner = row.get("function", row) if isinstance(row, dict) else None
        inner = inner if isinstance(inner, dict) else {}
        arguments = inner.get("arguments", inner.get("parameters"))
        if isinstance(inner.get("name"), str) and isinstance(arguments, dict | str):
            given = arguments if isinstance(arguments, dict) else None
            text = arguments if isinstance(arguments, str) else ""
            yield WantedCall(f"text_{place}", whole(inner["name"]), read_arguments(text, given))
