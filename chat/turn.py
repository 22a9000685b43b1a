"""One turn of a conversation: commands are always answered here, the rest by the model where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain

from chat.assistant import answer, refused_question
from chat.commands import is_command
from chat.model import Asker, CallEnded, Ended, Event, Failed, OnScreen, TextDelta, ToolResult, Turn
from chat.model_server import ModelServer
from chat.plain import understood
from chat.suggest import suggestions
from chat.without_model import Stop, never, run, without_model

# Faults that say that the server is not there to answer, whatever was asked.
DOWN = frozenset({"unreachable", "time_out", "server_error", "busy", "not_configured", "no_key", "wrong_key", "quota"})


def turn(
    asker: Asker,
    question: str,
    on_screen: OnScreen,
    history: Sequence[Turn] = (),
    server: ModelServer | None = None,
    stop: Stop = never,
) -> Iterator[Event]:
    """Answer a question. Raises nothing: the last event is Ended or Failed; the deltas together are the text of Ended.

    `server` None = no model. While the model server is down, a question that names a job, node or user is answered as
    without a model, and says so; another one ends as Failed, to be asked again.
    """
    refused = refused_question(question, asker.sources.settings.chat)
    if refused is not None:
        yield refused
    elif server is None or is_command(question):
        yield from without_model(asker, question, on_screen, stop)
    else:
        events = answer(asker, question, on_screen, history, server, stop)
        with closing(events):  # type: ignore[type-var]  # a generator: left at once, with its server, when this one is
            yield from _with_model(asker, question, on_screen, events, stop)


def _with_model(
    asker: Asker, question: str, on_screen: OnScreen, events: Iterator[Event], stop: Stop
) -> Iterator[Event]:
    first = next(events, None)
    if isinstance(first, Failed) and first.code in DOWN:
        wanted = understood(asker, question, on_screen)
        yield from _instead(first, run(asker, wanted, question, stop)) if wanted else iter((first,))
    elif first is not None:
        yield from _with_suggestions(chain((first,), events))


def _instead(fault: Failed, events: Iterator[Event]) -> Iterator[Event]:
    """The answer without a model, after a line that says why."""
    note = f"{fault.message} This is what the tools say of what you named.\n\n"
    yield TextDelta(note)
    for event in events:
        yield _behind(note, event) if isinstance(event, Ended) else event


def _behind(note: str, ended: Ended) -> Ended:
    """The end of an answer before whose text a note stands."""
    size = len(note)
    moved = tuple(replace(one, start=one.start + size, end=one.end + size) for one in ended.figures)
    untraced = tuple((start + size, end + size) for start, end in ended.untraced)
    return replace(ended, text=note + ended.text, figures=moved, untraced=untraced)


def _with_suggestions(events: Iterator[Event]) -> Iterator[Event]:
    """With what can be asked next, made of the results, where the model made none."""
    results: list[ToolResult] = []
    for event in events:
        if isinstance(event, CallEnded):
            results.append(event.result)
        if isinstance(event, Ended) and not event.suggestions:
            event = replace(event, suggestions=suggestions(results))
        yield event
