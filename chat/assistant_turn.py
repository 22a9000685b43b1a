"""One question under way: rounds of asking the model and running the tools that it wants, within their limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chat import messages
from chat.assistant_faults import Fault, Stopped, time_out
from chat.characters import whole
from chat.checker import check
from chat.follow_ups import follow_ups
from chat.model import Asker, CallEnded, CallStarted, Ended, Event, OnScreen, TextDelta, ToolResult, Turn, Usage
from chat.model_server import ModelServer
from chat.names_seen import names_seen
from chat.stream import Gathered
from chat.stream_calls import WantedCall
from chat.stream_pump import Pump
from chat.withheld import Withheld, withheld_by
from settings import ChatSettings

Call = Callable[[Asker, str, Mapping[str, Any], str], ToolResult]
_PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that a model may call: their schemas, and one call of one of them, which never raises."""

    schemas: Sequence[Mapping[str, Any]]
    call: Call

    @property
    def names(self) -> set[str]:
        return {str(schema["function"]["name"]) for schema in self.schemas}


@dataclass
class AskedTurn:
    """Its state; `said` is what this turn adds to the conversation in the form of the server."""

    asker: Asker
    question: str
    on_screen: OnScreen
    history: Sequence[Turn]
    server: ModelServer
    stop: Callable[[], bool]
    tools: Toolbox
    text: str = ""
    deadline: float = 0.0
    results: list[ToolResult] = field(default_factory=list)
    said: list[messages.Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    spent: int = 0

    @property
    def settings(self) -> ChatSettings:
        return self.server.settings

    @property
    def withheld(self) -> Withheld:
        return withheld_by(self.settings)

    def run(self) -> Iterator[Event]:
        """The events up to Ended. Raises Fault and Stopped."""
        self.deadline = time.monotonic() + self.settings.turn_seconds
        self.said = [{"role": "user", "content": whole(self.question)}]
        for step in range(self.settings.steps + 1):
            gathered = yield from self._asked(may_call=step < self.settings.steps)
            calls = self._wanted(gathered)
            if not calls:
                yield self._finished(gathered)
                return
            if step < self.settings.steps:
                yield from self._run_all(calls, gathered.answer)
        said = f"The model still wanted tools after {self.settings.steps} rounds (chat.steps)."
        raise Fault("steps", said, "Ask for less at once.")

    def ended(self, *, is_cut: bool) -> Ended:
        """The answer as it is, its figures compared with all results of the conversation."""
        earlier = [result for turn in self.history for result in turn.results]
        results = [*earlier, *self.results]
        checked = check(self.text, results, self.question, self.on_screen, names_seen(self.asker) if results else None)
        return Ended(self.text, checked.figures, checked.untraced, usage=self._usage(), is_cut=is_cut)

    def _asked(self, *, may_call: bool) -> Generator[Event, None, Gathered]:
        """Ask once, show the text as it comes, and give back what was gathered."""
        gathered, sent = Gathered(self.tools.names), self._messages()
        pump = Pump(self.server, self.server.body(sent, self.tools.schemas, may_call=may_call), self.deadline)
        try:
            for chunk in pump.chunks(self.stop):
                yield from self._show(gathered.add(chunk), gathered)
                if gathered.is_too_long:
                    break
            yield from self._show(gathered.end(), gathered)
            self.text = (self.text.removesuffix(gathered.text) + gathered.answer).rstrip()
        finally:
            pump.close()
            self.usages.append(gathered.usage)
            self.spent += _known(gathered.usage) or messages.tokens([*sent, {"content": gathered.text}])
        return gathered

    def _show(self, piece: str, gathered: Gathered) -> Iterator[Event]:
        """A piece of text; the first of a round is a paragraph of its own."""
        if piece:
            piece = _PARAGRAPH + piece if self.text and gathered.text == piece else piece
            self.text += piece
            yield TextDelta(piece)

    def _messages(self) -> list[messages.Message]:
        """What is sent now. Raises Fault when the budget of the conversation does not allow it."""
        kept = self.settings
        first = messages.system(self.asker, self.on_screen, self.withheld)
        room = kept.context_tokens - messages.tokens([first])
        said = messages.shortened(self.said, room)
        before = messages.fitting(self.history, room - messages.tokens(said), self.withheld, kept.empty_content)
        sent = [first, *before, *said]
        if self._spent() + messages.tokens(sent) > kept.conversation_tokens:
            text = f"This conversation has used its {kept.conversation_tokens:,} tokens (chat.conversation_tokens)."
            raise Fault("budget", text, "Begin a new conversation.", is_retryable=False)
        return sent

    def _spent(self) -> int:
        """Tokens of the conversation so far, about as many where the server did not count them."""
        before = (_known(turn.usage) or messages.tokens(self._as_sent(turn)) for turn in self.history)
        return sum(before) + self.spent

    def _as_sent(self, turn: Turn) -> list[messages.Message]:
        return messages.earlier(turn, self.withheld, self.settings.empty_content, is_whole=True)

    def _usage(self) -> Usage:
        """Tokens of all rounds; None where the server told of none."""
        return Usage(
            _sum([usage.prompt_tokens for usage in self.usages]),
            _sum([usage.completion_tokens for usage in self.usages]),
        )

    def _wanted(self, gathered: Gathered) -> tuple[WantedCall, ...]:
        """The calls of an answer, those too that came as text and name a tool. Raises Fault for other leaked calls."""
        if gathered.calls or not gathered.leaked:
            return gathered.calls
        if all(call.name in self.tools.names for call in gathered.leaked):
            return gathered.leaked
        text = "The model wrote a tool call as text instead of calling the tool."
        raise Fault("not_called", text, "Ask again; staff may choose a model that can call tools.")

    def _run_all(self, calls: Sequence[WantedCall], text: str) -> Iterator[Event]:
        first = len(self.results)
        for place, wanted in enumerate(calls):
            self._look_at_limits()
            call_id = self._free_id(wanted.id)
            yield CallStarted(call_id, wanted.name, wanted.arguments or {})
            result = self._run(wanted, call_id, is_over=place >= self.settings.calls_per_step)
            self.results.append(result)
            yield CallEnded(result)
        new = self.results[first:]
        self.said.append(messages.asking(new, self.settings.empty_content, text))
        self.said += [messages.told(result, self.withheld) for result in new]

    def _run(self, wanted: WantedCall, call_id: str, *, is_over: bool) -> ToolResult:
        """The result of a call; one that cannot be read or is too much is told as failed, and never run."""
        name, error = wanted.name, ""
        if is_over:
            error = f"Not run: at most {self.settings.calls_per_step} calls at once. Ask for the rest afterwards."
        elif name not in self.tools.names:
            error = f"There is no tool {name[:60] or 'without a name'}: unknown tool, not run."
        elif wanted.arguments is None:
            error = f"Not run: the arguments of {name} are no JSON object. Call it again."
        if error:
            hint = f"The tools are: {', '.join(sorted(self.tools.names))}." if name not in self.tools.names else ""
            return ToolResult(call_id, name, wanted.arguments or {}, 0.0, error=error, hint=hint)
        return self.tools.call(self.asker, name, wanted.arguments or {}, call_id)

    def _look_at_limits(self) -> None:
        if self.stop():
            raise Stopped
        if time.monotonic() > self.deadline:
            raise time_out(self.settings.turn_seconds, "and the tools did not finish")

    def _free_id(self, wanted: str) -> str:
        """The id of a call, told apart from those before: some servers begin at 0 with every answer."""
        taken = {result.call_id for result in [*(one for turn in self.history for one in turn.results), *self.results]}
        return (
            wanted
            if wanted not in taken
            else next(made for number in range(2, len(taken) + 3) if (made := f"{wanted}-{number}") not in taken)
        )

    def _finished(self, gathered: Gathered) -> Ended:
        """The end of an answer. Raises Fault for one without a word."""
        if not gathered.text.strip() and gathered.finish == "content_filter":
            raise Fault("filtered", "The model server's filter held the answer back.", "Put the question otherwise.")
        if not self.text.strip():
            raise Fault("empty", "The model gave an empty answer.", "Ask again, or put the question otherwise.")
        return self._with_follow_ups(self.ended(is_cut=gathered.is_cut))

    def _with_follow_ups(self, ended: Ended) -> Ended:
        """With questions that the model suggests, where the settings want them."""
        if not self.settings.model_follow_ups or self.stop():
            return ended
        first = messages.system(self.asker, self.on_screen, self.withheld)
        said = [first, {"role": "user", "content": self.question}, {"role": "assistant", "content": self.text}]
        try:
            found, usage = follow_ups(self.server, said, self.stop)
        except Stopped:  # the answer was whole before
            return ended
        self.usages.append(usage)
        return replace(ended, suggestions=found, usage=self._usage())


def _known(usage: Usage) -> int:
    return (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
