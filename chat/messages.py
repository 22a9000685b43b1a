"""The messages of a request: the rules, what is on screen, earlier turns as far as they fit, and this turn. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from chat.fence import fenced
from chat.model import Asker, OnScreen, ToolResult, Turn
from chat.withheld import Withheld
from settings import EmptyContent

Message = dict[str, Any]
_CHARACTERS_PER_TOKEN = 3.5
LEFT_OUT = "(left out here because it was long; call the tool again for it)"


@cache
def rules() -> str:
    return files("chat").joinpath("prompt.md").read_text(encoding="utf-8")


def system(asker: Asker, on_screen: OnScreen, withheld: Withheld) -> Message:
    """The rules, and who asks, when, and looking at what, as data."""
    seen = {"job": on_screen.job, "node": on_screen.node, "user": on_screen.user, "page": on_screen.path}
    if withheld.keeps_job_names:
        seen["page"] = on_screen.path.partition("?")[0]  # its filter may hold the name of a job
    facts = {
        "person": asker.viewer.user,
        "role": asker.viewer.role.value,
        "time": asker.now.isoformat(timespec="seconds"),
        "site_timezone": asker.sources.settings.site_timezone,
        "cluster": asker.sources.settings.cluster,
        "on_screen": {name: value for name, value in seen.items() if value},
    }
    return {"role": "system", "content": f"{rules()}\nThe person and the page:\n{fenced(facts)}"}


def asking(results: Sequence[ToolResult], empty: EmptyContent, text: str = "") -> Message:
    """What the model said when it called tools. The arguments are written anew, so that they can be read again."""
    calls = [
        {
            "id": result.call_id,
            "type": "function",
            "function": {"name": result.tool, "arguments": json.dumps(dict(result.arguments), ensure_ascii=False)},
        }
        for result in results
    ]
    content = text or (None if empty is EmptyContent.NULL else "")
    return {"role": "assistant", "content": content, "tool_calls": calls}


def told(result: ToolResult, withheld: Withheld) -> Message:
    """What a tool answered, fenced; one that failed says why."""
    said = {"error": result.error, "hint": result.hint} if result.value is None else result.value
    return {"role": "tool", "tool_call_id": result.call_id, "content": fenced(withheld.out_of(said))}


def earlier(turn: Turn, withheld: Withheld, empty: EmptyContent, *, is_whole: bool) -> list[Message]:
    """A turn of before, with its results or without. An answer that is empty is not sent: some servers refuse it."""
    found: list[Message] = [{"role": "user", "content": turn.question}]
    if is_whole and turn.results:
        found += [asking(turn.results, empty), *(told(result, withheld) for result in turn.results)]
    if turn.text.strip():
        found.append({"role": "assistant", "content": turn.text})
    return found


def tokens(messages: Sequence[Message]) -> int:
    """About how many tokens messages are; servers count for themselves."""
    return round(sum(len(json.dumps(message, ensure_ascii=False)) for message in messages) / _CHARACTERS_PER_TOKEN)


def fitting(history: Sequence[Turn], most_tokens: int, withheld: Withheld, empty: EmptyContent) -> list[Message]:
    """The newest turns that fit, the older ones of them without their results."""
    kept: list[Message] = []
    for turn in reversed(history):
        forms = (earlier(turn, withheld, empty, is_whole=is_whole) for is_whole in (True, False))
        found = next((form for form in forms if tokens(form) + tokens(kept) <= most_tokens), None)
        if found is None:
            break
        kept = found + kept
    return kept


def shortened(turn: Sequence[Message], most_tokens: int) -> list[Message]:
    """This turn, its oldest results left out while it is too long; those of the last round stay."""
    kept = list(turn)
    last = max((place for place, item in enumerate(kept) if "tool_calls" in item), default=0)
    for place, item in enumerate(kept[:last]):
        if tokens(kept) <= most_tokens:
            break
        if item["role"] == "tool":
            kept[place] = {**item, "content": LEFT_OUT}
    return kept
