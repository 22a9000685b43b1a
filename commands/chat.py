"""The assistant in a terminal: the same answers, cards as tables, commands without a model."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from commands.asked import AsJson, Asked, Screen
from data.errors import BadRequest, FullwarpError

if TYPE_CHECKING:
    from chat.model import Event, Turn
    from chat.model_server import ModelServer
    from terminal.session import View

_ENDS = frozenset({"exit", "quit", "/exit", "/quit"})


def register(commands: typer.Typer) -> None:
    commands.command("chat")(chat)


def chat(
    context: typer.Context,
    question: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUESTION", help='What to ask, such as "/waste week"; none = one after another.'),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the assistant. Commands such as /job 123 need no model; /help lists them."""
    words = " ".join(question or ())
    asked: Asked = context.obj
    if not words and not sys.stdin.isatty():
        raise BadRequest("chat needs a question", hint='Write fullwarp chat "/help", or ask in a terminal.')
    view = asked.view()
    conversation = Conversation(view, asked.screen, _server(view))
    if not words:
        conversation.talk()
    elif not conversation.ask(words, as_json=as_json):
        raise typer.Exit(1)


class Conversation:
    """Questions one after another: the model reads what was said before."""

    def __init__(self, view: View, screen: Screen, server: ModelServer | None) -> None:
        self._view, self._screen, self._server = view, screen, server
        self._turns: list[Turn] = []

    def talk(self) -> None:
        """Ask until the end of input. What goes wrong with one question, or ^C, ends only that one."""
        with suppress(ImportError):
            import readline  # noqa: F401  # lines can be edited and called back
        where = f"Text goes to {self._server.host}." if self._server else "No model: commands only."
        self._screen.tell(f"You see what {self._view.viewer.user} may see. {where} /help lists commands, exit ends.")
        while (line := _read()) is not None and line not in _ENDS:
            try:
                if line:
                    self.ask(line)
            except FullwarpError as err:
                self._screen.tell(" ".join(part for part in (str(err), err.hint) if part))
            except KeyboardInterrupt:
                self._screen.tell("\nStopped.")

    def ask(self, question: str, *, as_json: bool = False) -> bool:
        """Show the answer, and say whether any tool had one. Raises BadRequest where the question ended without."""
        from chat.model import CallEnded, Ended, Failed, Turn
        from terminal.chat import answer_of

        events = list(self._events(question)) if as_json else list(self._shown(question))
        last = events[-1]
        results = tuple(event.result for event in events if isinstance(event, CallEnded))
        if as_json:
            self._screen.show(answer_of(question, events), lambda *_: (), as_json=True)
        if isinstance(last, Failed):
            raise BadRequest(last.message, hint=last.hint)
        if isinstance(last, Ended):
            self._turns.append(Turn(question, last.text, results))
        return not results or not all(result.is_failed for result in results)

    def _events(self, question: str) -> Iterator[Event]:
        from chat.model import Asker, OnScreen
        from chat.turn import turn

        view = self._view
        asker = Asker(view.viewer, view.sources, view.sources.clock())
        yield from turn(asker, question, OnScreen(), tuple(self._turns), self._server)

    def _shown(self, question: str) -> Iterator[Event]:
        """The events, each on screen as it comes."""
        from chat.model import CallEnded, Ended, TextDelta
        from terminal.chat import card_lines, closing_lines, plain

        zone = self._view.zone
        for event in self._events(question):
            if isinstance(event, TextDelta):
                self._screen.write(plain(event.text).encode())
            elif isinstance(event, CallEnded):
                self._screen.show(event.result, lambda result, width: card_lines(result, zone, width), as_json=False)
                self._screen.write(b"\n")
            elif isinstance(event, Ended):
                self._screen.write(b"\n")
                self._screen.show(event, lambda ended, _: closing_lines(ended), as_json=False)
            yield event


def _server(view: View) -> ModelServer | None:
    settings = view.sources.settings.chat
    if not settings.has_model:
        return None
    from chat.model_server import ModelServer

    quiet_log()
    return ModelServer(settings)


def quiet_log() -> None:
    """Keep the assistant's log off a terminal: the screen tells what went wrong, as far as the viewer may read it."""
    logging.getLogger("chat").addHandler(logging.NullHandler())


def _read() -> str | None:
    """A line; None at the end of input."""
    try:
        return input("> ").strip()
    except EOFError:
        return None
