"""One answer of the model, gathered from the chunks of its stream. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.characters import begun, whole
from chat.model import Usage
from chat.stream_calls import CallPieces, WantedCall
from chat.stream_leaks import calls_at_end, leaked_calls
from chat.stream_text import ShownText, answer_in

MOST_TEXT = 100_000  # characters: some fifty pages
_BRINGS = ("content", "refusal", "tool_calls", "function_call")


@dataclass(slots=True)
class Gathered:
    """What came so far. Chunks of one response belong together, whatever ids they carry; whether there are calls
    decides what follows, never the reason that the server gives for its end. `tools` are the names that a call written
    as text may have without arguments."""

    tools: Collection[str] = ()
    shown: ShownText = field(default_factory=ShownText)
    pieces: CallPieces = field(default_factory=CallPieces)
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    text: str = ""
    is_counted: bool = False
    half: str = ""
    is_streamed: bool = False

    def add(self, chunk: object) -> str:
        """Take a chunk and give the text that may be shown now."""
        if not isinstance(chunk, dict):
            return ""
        self._count(chunk.get("usage"))
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        part = self._part(choice)
        reason = choice.get("finish_reason") or part.get("finish_reason")
        self.finish = reason if isinstance(reason, str) else self.finish
        self.pieces.add(part.get("tool_calls") or _older_call(part.get("function_call")))
        return self._show(self.shown.add(self._joined(content_text(part.get("content") or part.get("refusal")))))

    def end(self) -> str:
        """The stream is over: what was held back and is text, after all."""
        last, self.half = self.shown.add(whole(self.half)), ""
        rest = self.shown.rest()
        return self._show(last + ("" if leaked_calls(rest, self.tools) else rest))

    def _part(self, choice: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a choice brings: a delta, or a message where the server sends none; one behind deltas repeats them."""
        found = choice.get("delta") or ({} if self.is_streamed else choice.get("message"))
        part: Mapping[str, Any] = found if isinstance(found, dict) else {}
        self.is_streamed |= part is choice.get("delta") and any(part.get(name) for name in _BRINGS)
        return part

    def _joined(self, piece: str) -> str:
        """A piece of text in whole characters: some servers cut them in two."""
        text = self.half + piece
        self.half = begun(text)
        return whole(text.removesuffix(self.half))

    def _show(self, text: str) -> str:
        self.text += text
        return text

    @property
    def answer(self) -> str:
        """The text once it is whole: thinking that came without its first tag, and calls behind prose, can only be told
        then."""
        return answer_in(calls_at_end(self.text, self.tools)[0])

    @property
    def is_too_long(self) -> bool:
        """Whether more came than any answer has: then it is left, and is cut."""
        return len(self.text) + len(self.shown.held) > MOST_TEXT

    @property
    def is_cut(self) -> bool:
        """Whether the text may lack its end: the server says so, or it ended without saying anything."""
        return (
            self.is_too_long or self.finish in ("length", "content_filter") or (not self.finish and not self.is_counted)
        )

    @property
    def calls(self) -> tuple[WantedCall, ...]:
        return self.pieces.wanted()

    @property
    def leaked(self) -> tuple[WantedCall, ...]:
        """Calls that came as text."""
        return leaked_calls(self.shown.rest(), self.tools) or calls_at_end(self.text, self.tools)[1]

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self.is_counted = True
            self.usage = Usage(_count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and value >= 0 else None


def _older_call(function: object) -> list[object]:
    """The form from before there could be several calls, as a fragment of one."""
    return [{"function": function}] if isinstance(function, dict) else []


def content_text(content: object) -> str:
    """The text of a content, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(content_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
