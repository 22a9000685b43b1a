"""What a conversation is made of: the question with what is on screen, results of tools, and what a turn tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from data.queries.asked import Asked

# Every tool runs with this, and sees no more than its viewer may.
Asker = Asked


@dataclass(frozen=True, slots=True)
class OnScreen:
    """What the page shows while the question is asked: `path` below the prefix, with its query; empty = not known."""

    path: str = ""
    job: str = ""
    node: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call of a tool answered.

    `value` is JSON that the model reads and the checker traces, with units in its keys; None where the call failed,
    and then `error` says why in words for model and person alike. `answer` is the core value behind it, from which a
    card is drawn; `link` is the address below the prefix of the page that shows the same, empty where none does.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    seconds: float
    value: Mapping[str, Any] | None = None
    answer: Any = None
    link: str = ""
    error: str = ""
    hint: str = ""

    @property
    def is_failed(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in the text, at [start, end): traced to `path` in the result `call_id`, or not traced (empty path)."""

    start: int
    end: int
    call_id: str = ""
    path: str = ""

    @property
    def is_traced(self) -> bool:
        return bool(self.path)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, to be put after what came before."""

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool is about to run."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A tool has answered or failed."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended without an answer. `code` is a word such as no_key, unreachable, time_out, too_long, budget."""

    code: str
    message: str
    hint: str = ""
    is_retryable: bool = True


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over. `text` is the whole answer; `figures` its numbers, `untraced` the spans of sentences with a
    figure that no result holds; `is_cut` where the model was stopped or ran out before its end."""

    text: str
    figures: tuple[Figure, ...] = ()
    untraced: tuple[tuple[int, int], ...] = ()
    suggestions: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    is_cut: bool = False


Event = TextDelta | CallStarted | CallEnded | Failed | Ended


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it: kept, and given to the model with the next question."""

    question: str
    text: str
    results: tuple[ToolResult, ...] = ()
    usage: Usage = field(default_factory=Usage)
