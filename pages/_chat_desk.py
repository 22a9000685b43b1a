"""Where turns of the assistant are run: each in a thread of its own, no more at once than the site allows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from chat.model import Asker, Event, Failed, OnScreen, Turn
from chat.model_server import ModelServer
from chat.turn import turn
from data.errors import FullwarpError
from pages._chat_keeping import Keeping
from pages._chat_log import Log
from pages._chat_told import Telling, turns_for_model
from settings import ChatSettings, Settings

log = logging.getLogger(__name__)
Stop = Callable[[], bool]
Answer = Callable[[Asker, str, OnScreen, Sequence[Turn], Stop], Iterator[Event]]


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked, in which conversation, and in the place of which turn (empty = at its end). `past` is what the
    browser remembers: it counts where the server remembers nothing."""

    text: str
    conversation: str
    turn: str
    on_screen: OnScreen
    replaces: str = ""
    past: tuple[Turn, ...] = ()
    is_for_model: bool = False


@dataclass
class AnyModel:
    """Answers with the model server of the settings, one client for the process, or without a model."""

    _server: ModelServer | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __call__(
        self, asker: Asker, question: str, on_screen: OnScreen, history: Sequence[Turn], stop: Stop
    ) -> Iterator[Event]:
        return turn(asker, question, on_screen, history, self._of(asker.sources.settings.chat), stop)

    def _of(self, chat: ChatSettings) -> ModelServer | None:
        if not chat.has_model:
            return None
        with self._guard:
            if self._server is None or self._server.settings != chat:
                self._server = ModelServer(chat)
            return self._server


@dataclass
class Desk:
    """The assistant of one process. `answer` is what is behind it."""

    answer: Answer = field(default_factory=AnyModel)
    keeping: Keeping = field(default_factory=Keeping)
    _under_way: int = 0
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def has_room(self, most: int) -> bool:
        """Take a place for one more turn; False where all are taken. `run` gives it back."""
        with self._guard:
            if self._under_way >= most:
                return False
            self._under_way += 1
            return True

    def leave(self) -> None:
        with self._guard:
            self._under_way -= 1

    def run(self, asker: Asker, question: Question, base: str, out: Log, stop: Stop) -> None:
        """Start the turn; its place must be taken. It ends `out` whatever happens."""
        thread = threading.Thread(target=self._run, args=(asker, question, base, out, stop), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self.leave()
            raise

    def _run(self, asker: Asker, question: Question, base: str, out: Log, stop: Stop) -> None:
        settings, telling = asker.sources.settings, _telling(asker, question, base, out)
        try:
            telling.begin()
            for event in self._events(asker, question, stop):
                telling.tell(event)
        except Exception:
            log.exception("a turn of the assistant failed")
            telling.tell(_FAULT)
        finally:
            self._close(asker, question, telling, settings, out)

    def _events(self, asker: Asker, question: Question, stop: Stop) -> Iterator[Event]:
        yield from self.answer(asker, question.text, question.on_screen, self._history(asker, question), stop)

    def _history(self, asker: Asker, question: Question) -> Sequence[Turn]:
        """What was said before; what the browser remembers where the server remembers nothing or cannot look."""
        try:
            kept = self.keeping.turns(asker.sources.settings, asker.viewer.user, question.conversation, asker.now)
        except FullwarpError as err:
            log.warning("a conversation with the assistant cannot be read: %s", err)
            return question.past
        ids = [one.id for one in kept]
        before = kept[: ids.index(question.replaces)] if question.replaces in ids else kept
        return turns_for_model(before) if kept else question.past

    def _close(self, asker: Asker, question: Question, telling: Telling, settings: Settings, out: Log) -> None:
        """Keep the turn and count it, tell the end, and give the place back."""
        user = asker.viewer.user
        try:
            if question.is_for_model:
                used = telling.usage
                self.keeping.used(settings, user, asker.now, used.prompt_tokens, used.completion_tokens)
            is_kept = self.keeping.keep(settings, user, question.conversation, telling.kept(), question.replaces)
            telling.finish(is_kept=is_kept, is_lost=not is_kept and self.keeping.is_kept(settings))
        except Exception:
            log.exception("the end of a turn of the assistant failed")
        finally:
            out.end()
            self.leave()
        self._clean(settings, asker.now)

    def _clean(self, settings: Settings, now: datetime) -> None:
        """Forget what is too old; nobody waits for it."""
        try:
            self.keeping.clean(settings, now)
        except Exception:
            log.exception("old conversations with the assistant cannot be forgotten")


def _telling(asker: Asker, question: Question, base: str, out: Log) -> Telling:
    limits = asker.sources.settings.judgement
    return Telling(question.turn, question.text, question.conversation, asker.now, base, limits, out.put)


_FAULT = Failed("internal", "Fullwarp failed at this.", "Ask again, or tell the cluster staff.")


def stream_of(events: Any) -> Iterator[bytes]:
    """Events as server-sent ones: those that came together go together, and a comment each second keeps the line
    open and shows when the other side has left."""
    seen, is_over = 0, False
    while not is_over:
        found, is_over = events.after(seen, 1.0)
        seen += len(found)
        yield b"".join(b"data: " + one + b"\n\n" for one in found) or b": still here\n\n"
