"""Calls that a model wrote as text, in the forms that servers leave there when they do not know the model's. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from chat.call_arguments import documents, read_arguments
from chat.characters import whole
from chat.stream_calls import MOST_CALLS, WantedCall

# Where one of these begins, what follows is a call and not meant for the person.
CALL_MARKS: Final = ("<tool_call>", "<|tool_call|>", "<|python_tag|>", "[TOOL_CALLS]", "<function=")
_MARKS: Final = re.compile(
    r"</?tool_call>|<\|(?:tool_call|python_tag|eom_id|eot_id)\|>|\[TOOL_CALLS\]|^```(?:json)?|```$|(?<=\});(?=\s*\{)"
)
_LONGEST_TAIL: Final = 10_000  # characters
_MOST_TRIED: Final = 50
# None of these looks from every place to the end of the text: models that go astray write one thing without end.
_BLOCK: Final = re.compile(r"^[^\S\n]*(?=```|[\[{])", re.MULTILINE)
_FUNCTION: Final = re.compile(r"<function=([^>\s]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER: Final = re.compile(r"<parameter=([^>\s]{1,200})>\n?(.*?)\n?\Z", re.DOTALL)


def leaked_calls(text: str, tools: Collection[str] = ()) -> tuple[WantedCall, ...]:
    """Calls that the model wrote as text instead of calling; empty where the text is none.

    A name without arguments is a call only of one of the `tools`: it may be an answer in JSON otherwise.
    """
    bare = _MARKS.sub(" ", text.strip()).strip()
    if bare.startswith("<function="):
        return tuple(islice(_functions(bare), MOST_CALLS))
    try:
        rows = [row for found in documents(bare) for row in (found if isinstance(found, list) else [found])]
    except (ValueError, RecursionError):
        return ()
    calls = [_call(place, row, tools) for place, row in enumerate(rows[:MOST_CALLS])]
    return tuple(call for call in calls if call is not None)


def calls_at_end(text: str, tools: Collection[str]) -> tuple[str, tuple[WantedCall, ...]]:
    """A text whose last lines are calls of the `tools`, in two: what comes before them, and the calls."""
    begun = _BLOCK.finditer(text, max(0, len(text) - _LONGEST_TAIL)) if tools else iter(())
    for match in islice(begun, _MOST_TRIED):
        calls = leaked_calls(text[match.start() :], tools)
        if calls and all(call.name in tools for call in calls):
            return text[: match.start()].rstrip(), calls
    return text, ()


def _functions(text: str) -> Iterable[WantedCall]:
    """Calls in tags: an object inside of each, or a tag for every argument."""
    for place, match in enumerate(_FUNCTION.finditer(text)):
        body = match[2].strip()
        parts = map(_PARAMETER.search, body.split("</parameter>")[:-1])
        given = {part[1]: _value(part[2]) for part in parts if part is not None}
        yield WantedCall(f"text_{place}", whole(match[1]), read_arguments("" if given else body, given or None))


def _value(text: str) -> Any:
    """What stands between the tags of an argument: JSON where it is some, else text."""
    try:
        found: Iterator[Any] = documents(text)
        value = next(found, text)
        return value if next(found, None) is None else text
    except (ValueError, RecursionError):
        return text


def _call(place: int, row: object, tools: Collection[str]) -> WantedCall | None:
    inner = row.get("function", row) if isinstance(row, dict) else None
    if not isinstance(inner, dict) or not isinstance(name := inner.get("name"), str):
        return None
    arguments = inner.get("arguments", inner.get("parameters", {} if name in tools else None))
    if isinstance(arguments, str):
        return WantedCall(f"text_{place}", whole(name), read_arguments(arguments))
    return (
        WantedCall(f"text_{place}", whole(name), read_arguments("", arguments)) if isinstance(arguments, dict) else None
    )
