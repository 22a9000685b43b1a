"""A turn as the browser gets it: events in order, with ready components; and as it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from chat.model import CallEnded, CallStarted, Ended, Event, Failed, Figure, TextDelta, ToolResult, Turn, Usage
from components.chat_cards import as_json, card, running_card
from components.chat_text import answer_text, settled_length
from components.chat_turn import not_kept, turn_box, turn_end
from data.state.chat_kept import KeptTurn
from settings import JudgementSettings

OPEN_CARDS = 2
Put = Callable[[bytes], None]


@dataclass
class Telling:
    """Tells the events of one turn to `put`, and gathers what is kept of it."""

    turn: str
    question: str
    conversation: str
    asked_at: datetime
    base: str
    limits: JudgementSettings
    put: Put
    text: str = ""
    shown: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)
    ended: Ended | None = None
    failed: Failed | None = None

    def begin(self) -> None:
        box = turn_box(self.turn, self.question)
        self._tell("begun", turn=self.turn, conversation=self.conversation, part=box)

    def tell(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._text(event.text)
        elif isinstance(event, CallStarted):
            self._tell("call", call=event.call_id, part=running_card(event.tool, event.arguments))
        elif isinstance(event, CallEnded):
            self._result(event.result)
        elif isinstance(event, Failed):
            self.failed = event
        else:
            self.ended = event

    def finish(self, *, is_kept: bool, is_lost: bool = False) -> None:
        """The end: the text anew, with its figures, and what stands below it. `is_lost` = it should be kept, and the
        store did not take it."""
        turn = self.kept()
        end = [*end_of(turn, is_kept=is_kept), *([not_kept()] if is_lost else [])]
        failure = self.failed.message if self.failed is not None else ""
        self._tell("ended", text=text_of(turn, self.base), end=end, failure=failure, said=turn.text, is_kept=is_kept)

    def kept(self) -> KeptTurn:
        """The turn as it stands now. One that was broken off has the text so far."""
        ended = self.ended
        text = self.text if ended is None else ended.text
        return KeptTurn(
            id=self.turn,
            question=self.question,
            text=text,
            asked_at=self.asked_at,
            results=tuple(self.results),
            checked={} if ended is None else _checked(ended),
            failure={} if self.failed is None else _failure(self.failed),
            is_cut=ended.is_cut if ended is not None else self.failed is None,
        )

    @property
    def usage(self) -> Usage:
        return Usage() if self.ended is None else self.ended.usage

    def _text(self, words: str) -> None:
        """A delta; once a block cannot change any more, the block as it will stay, and what is left of the text."""
        self.text += words
        settled = settled_length(self.text[self.shown :])
        if not settled:
            self._tell("delta", text=words)
            return
        block = self.text[self.shown : self.shown + settled]
        self.shown += settled
        self._tell("blocks", text=words, parts=answer_text(block, self.base), tail=self.text[self.shown :])

    def _result(self, result: ToolResult) -> None:
        made = card(result, self.base, self.limits, is_open=len(self.results) < OPEN_CARDS)
        self.results.append(_kept_result(result, made))
        self._tell("card", call=result.call_id, part=made)

    def _tell(self, kind: str, **more: Any) -> None:
        self.put(as_json({"kind": kind, **more}))


def _kept_result(result: ToolResult, made: Any) -> dict[str, Any]:
    return {
        "call_id": result.call_id,
        "tool": result.tool,
        "arguments": dict(result.arguments),
        "seconds": result.seconds,
        "value": None if result.value is None else dict(result.value),
        "link": result.link,
        "error": result.error,
        "hint": result.hint,
        "card": orjson.loads(as_json(made)),
    }


def _checked(ended: Ended) -> dict[str, Any]:
    return {
        "figures": [[one.start, one.end, one.call_id, one.path] for one in ended.figures],
        "untraced": [list(span) for span in ended.untraced],
        "suggestions": list(ended.suggestions),
        "tokens": [ended.usage.prompt_tokens, ended.usage.completion_tokens],
    }


def _failure(failed: Failed) -> dict[str, Any]:
    return {
        "code": failed.code,
        "message": failed.message,
        "hint": failed.hint,
        "is_retryable": failed.is_retryable,
    }


def text_of(turn: KeptTurn, base: str) -> list[Any]:
    """The answer of a kept turn, with its figures."""
    figures = tuple(Figure(*one) for one in turn.checked.get("figures", ()))
    untraced = tuple((start, end) for start, end in turn.checked.get("untraced", ()))
    names = {str(one["call_id"]): str(one["tool"]) for one in turn.results}
    return answer_text(turn.text, base, figures, untraced, names)


def end_of(turn: KeptTurn, *, is_kept: bool) -> list[Any]:
    return turn_end(
        turn.text,
        failure=turn.failure,
        is_cut=turn.is_cut,
        has_figures=any(path for *_, path in turn.checked.get("figures", ())),
        suggestions=turn.checked.get("suggestions", ()),
        thumb=turn.thumb,
        is_kept=is_kept,
    )


def box_of(turn: KeptTurn, base: str) -> Any:
    """A kept turn as it was shown."""
    cards = [one["card"] for one in turn.results if "card" in one]
    return turn_box(turn.id, turn.question, cards, text_of(turn, base), end_of(turn, is_kept=True))


def turns_for_model(kept: Iterable[KeptTurn]) -> tuple[Turn, ...]:
    """What was said so far, as the model gets it; a turn that came to nothing is left out."""
    return tuple(
        Turn(turn.question, turn.text, tuple(_result_of(one) for one in turn.results), _usage_of(turn))
        for turn in kept
        if turn.text or turn.results
    )


def _usage_of(turn: KeptTurn) -> Usage:
    tokens: Sequence[int | None] = turn.checked.get("tokens", (None, None))
    return Usage(*tokens)


def _result_of(kept: Mapping[str, Any]) -> ToolResult:
    return ToolResult(
        call_id=str(kept["call_id"]),
        tool=str(kept["tool"]),
        arguments=kept["arguments"],
        seconds=float(kept["seconds"]),
        value=kept["value"],
        link=str(kept["link"]),
        error=str(kept["error"]),
        hint=str(kept["hint"]),
    )
