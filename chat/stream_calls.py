"""Puts the fragments of tool calls together, as servers really send them. Pure.

An index may be missing, null, text or the same for all calls; an id may come once, in every fragment, be another in
each, or never come; arguments come in pieces, whole, once more at the end, as an object, empty or null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.call_arguments import MOST_ARGUMENTS, read_arguments
from chat.characters import whole

MOST_CALLS = 100  # of one answer; those that follow are left out


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
            # Some servers send all that came so far anew with every fragment, or at the end.
            is_anew = len(self.text) > 1 and arguments.startswith(self.text)
            self.text = arguments if is_anew else self.text + arguments

    @property
    def is_complete(self) -> bool:
        return self.whole is not None or bool(self.text.strip() and read_arguments(self.text) is not None)


@dataclass(slots=True)
class CallPieces:
    """The calls of one answer, in the order of their first fragments."""

    _calls: list[_Call] = field(default_factory=list)

    def add(self, fragments: object) -> None:
        """Take the `tool_calls` of one chunk; what is no fragment is left out."""
        for fragment in fragments if isinstance(fragments, list) else (fragments,):
            if isinstance(fragment, dict):
                self._take(fragment)

    def _take(self, fragment: Mapping[str, Any]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        begun = _Call(_index(fragment.get("index")), _text(fragment.get("id")), _text(function.get("name")))
        begun.add(arguments)
        known = self._known(begun)
        if known is None or _begins(known, begun):
            self._calls += [begun] if len(self._calls) < MOST_CALLS else []
            return
        known.add(arguments)
        known.id, known.name = known.id or begun.id, known.name or begun.name

    def _known(self, begun: _Call) -> _Call | None:
        """The call so far that a fragment may go on with: by its index; one that says nothing of itself, the last."""
        last = self._calls[-1] if self._calls else None
        if begun.index is None:
            return last
        at_index = next((call for call in reversed(self._calls) if call.index == begun.index), None)
        return last if at_index is None and not (begun.id or begun.name) else at_index

    def wanted(self) -> tuple[WantedCall, ...]:
        """The calls; one without an id gets its place as one."""
        return tuple(
            WantedCall(call.id or f"call_{place}", call.name, read_arguments(call.text, call.whole or None))
            for place, call in enumerate(self._calls)
        )


def _begins(known: _Call, begun: _Call) -> bool:
    """Whether a fragment that names a function is a call of its own: it has another id, or the one before is whole.

    Another id alone does not tell: there are servers that make one up for every fragment of a call.
    """
    if not begun.name:
        return False
    if begun.id and known.id:
        may_go_on = begun.index is not None and begun.name == known.name and not begun.is_complete
        return begun.id != known.id and (known.is_complete or not may_go_on)
    return bool(known.name) and known.is_complete


def _index(value: object) -> int | None:
    """A place as a number or as its digits."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) else None


def _text(value: object) -> str:
    return whole(value) if isinstance(value, str) else ""
