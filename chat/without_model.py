"""A turn without a model: the tools that a command or a plain question means, and a sentence made of each result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from chat.checker import check
from chat.commands import Wanted, help_lines, is_command, read_command
from chat.model import Asker, CallEnded, CallStarted, Ended, Event, Failed, OnScreen, TextDelta, ToolResult
from chat.plain import understood
from chat.sentences import sentence
from chat.suggest import FIRST, suggestions
from chat.tools import call
from data.errors import BadRequest

_NOT_UNDERSTOOD = (
    "Without a model only commands and questions that name a job, a node or a user are understood. "
    "Try `/job ID`, `/waste week` or `/help`."
)


Stop = Callable[[], bool]


def never() -> bool:
    return False


def without_model(asker: Asker, question: str, on_screen: OnScreen, stop: Stop = never) -> Iterator[Event]:
    """Answer a command or a plain question. Raises nothing: the last event is Ended or Failed."""
    try:
        wanted = _wanted(asker, question, on_screen)
    except BadRequest as err:
        yield Failed("command", str(err), err.hint, is_retryable=False)
        return
    if wanted is None:
        yield from _said("\n".join(("What can be asked without a model:", "", *help_lines())), FIRST)
    elif not wanted:
        yield from _said(_NOT_UNDERSTOOD, FIRST)
    else:
        yield from run(asker, wanted, question, stop)


def run(asker: Asker, wanted: Sequence[Wanted], question: str, stop: Stop = never) -> Iterator[Event]:
    """Run the tools one after another, and say of each what it found; `stop` is asked before each. The text is made of
    the results: its figures are traced to where they stand, and none is marked."""
    results: list[ToolResult] = []
    text = ""
    for place, one in enumerate(wanted, 1):
        if stop():
            break
        name = f"call_{place}"
        yield CallStarted(name, one.tool, one.arguments)
        results.append(call(asker, one.tool, one.arguments, name))
        yield CallEnded(results[-1])
        words = sentence(results[-1])
        said = f"\n\n{words}" if text and words else words
        text += said
        if said:
            yield TextDelta(said)
    traced = tuple(figure for figure in check(text, results, question).figures if figure.is_traced)
    yield Ended(text, traced, suggestions=suggestions(results), is_cut=len(results) < len(wanted))


def _wanted(asker: Asker, question: str, on_screen: OnScreen) -> Sequence[Wanted] | None:
    """None = help."""
    if not is_command(question):
        return understood(asker, question, on_screen)
    found = read_command(question, on_screen)
    return None if found is None else (found,)


def _said(text: str, more: tuple[str, ...]) -> Iterator[Event]:
    yield TextDelta(text)
    yield Ended(text, suggestions=more)
