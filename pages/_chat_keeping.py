"""Where conversations and counts are: in the application store where one is set, else in this process alone."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from data.errors import FullwarpError, SettingsError, SourceError
from data.state.opened import OpenedState
from settings import Settings

if TYPE_CHECKING:
    from data.state.chat_kept import KeptConversation, KeptTurn
    from data.state.chat_usage import DayLimits
    from data.state.store import Place, StateStore

MOST_REMEMBERED = 200
_CLEAN_SECONDS = 3600.0
log = logging.getLogger(__name__)
Found = TypeVar("Found")
_Failing = (SettingsError, SourceError)


class WrittenState(OpenedState):
    """The application store, made where it is not there yet: what people say must find its place."""

    def _open(self, settings: Place) -> StateStore | None:
        from data.state.store import open_store

        return open_store(settings, writes=True)


@dataclass
class Keeping:
    """Conversations and counts of one app. `is_kept` says whether a conversation outlives its tab; one that is not
    kept is remembered in this process, so that a next question can mean the one before."""

    state: WrittenState = field(default_factory=WrittenState)
    _remembered: OrderedDict[tuple[str, str], tuple[KeptTurn, ...]] = field(default_factory=OrderedDict)
    _counts: dict[tuple[str, date], list[int]] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _cleaned: float = -_CLEAN_SECONDS

    def is_kept(self, settings: Settings) -> bool:
        return settings.chat.history_days > 0 and settings.state.is_set

    def list(self, settings: Settings, user: str, now: datetime) -> tuple[KeptConversation, ...]:
        """The person's conversations, the newest first; none where none are kept. Raises as the store does."""
        from data.state.chat_kept import conversations

        if not self.is_kept(settings):
            return ()
        found = self._asked(settings, lambda store: conversations(store, user, _since(settings, now)))
        return found or ()

    def turns(self, settings: Settings, user: str, conversation: str, now: datetime) -> tuple[KeptTurn, ...]:
        """What was said so far in the person's own conversation; none in any other. Raises as the store does."""
        from data.state.chat_kept import turns

        if not self.is_kept(settings):
            return self._remembered.get((user, conversation), ())
        found = self._asked(settings, lambda store: turns(store, user, conversation, _since(settings, now)))
        return found or ()

    def keep(self, settings: Settings, user: str, conversation: str, turn: KeptTurn, replaces: str = "") -> bool:
        """Put the turn at the end, in the place of `replaces` and what followed it; whether it is kept for later."""
        from data.state.chat_kept import drop_from, keep_turn

        if not self.is_kept(settings):
            self._remember(user, conversation, turn, replaces)
            return False
        try:
            if replaces:
                self._asked(settings, lambda store: drop_from(store, user, conversation, replaces))
            self._asked(settings, lambda store: keep_turn(store, user, conversation, turn))
        except FullwarpError as err:
            log.warning("a turn of the assistant is not kept: %s", err)
            return False
        return True

    def _remember(self, user: str, conversation: str, turn: KeptTurn, replaces: str) -> None:
        with self._guard:
            before = self._remembered.pop((user, conversation), ())
            ids = [one.id for one in before]
            kept = before[: ids.index(replaces)] if replaces in ids else before
            self._remembered[(user, conversation)] = (*kept, turn)
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)

    def judge(self, settings: Settings, user: str, turn: str, thumb: int | None, comment: str) -> None:
        """Keep what the person thinks of an answer. Raises NotFound where it is not kept."""
        from data.errors import NotFound
        from data.state.chat_kept import judge_turn

        if not self.is_kept(settings):
            raise NotFound("Conversations are not kept here", hint="So no opinion of an answer is, either.")
        self._asked(settings, lambda store: judge_turn(store, user, turn, thumb, comment))

    def forget(self, settings: Settings, user: str, conversation: str = "") -> int:
        """Delete one conversation of the person's, or all of them; how many there were."""
        from data.state.chat_kept import forget_conversations

        with self._guard:
            for key in [one for one in self._remembered if one[0] == user and conversation in ("", one[1])]:
                del self._remembered[key]
        ids = [conversation] if conversation else None
        return self._asked(settings, lambda store: forget_conversations(store, user, ids)) or 0

    def take(self, settings: Settings, user: str, now: datetime) -> None:
        """Count one more question to the model. Raises LimitReached where the day allows none."""
        from data.state.chat_usage import take_question

        day, limits = _day(settings, now), _limits(settings)
        try:
            if settings.state.is_set:
                self._asked(settings, lambda store: take_question(store, user, day, limits))
                return
        except _Failing as err:
            log.warning("questions to the assistant are counted in this process alone: %s", err)
        self._take_here(user, day, limits)

    def _take_here(self, user: str, day: date, limits: DayLimits) -> None:
        from data.state.chat_usage import limit_reached

        with self._guard:
            for key in [one for one in self._counts if one[1] < day]:
                del self._counts[key]
            count = self._counts.setdefault((user, day), [0, 0])
            is_out = limits.questions is not None and count[0] >= limits.questions
            if is_out or (limits.tokens is not None and count[1] >= limits.tokens):
                raise limit_reached(count[0], count[1], limits)
            count[0] += 1

    def used(self, settings: Settings, user: str, now: datetime, prompt: int | None, completion: int | None) -> None:
        """Add the tokens of an answer to the person's day."""
        from data.state.chat_usage import add_tokens

        day = _day(settings, now)
        with self._guard:
            if (user, day) in self._counts:
                self._counts[(user, day)][1] += (prompt or 0) + (completion or 0)
        try:
            self._asked(settings, lambda store: add_tokens(store, user, day, prompt, completion))
        except _Failing as err:
            log.warning("tokens of the assistant are not counted: %s", err)

    def _asked(self, settings: Settings, ask: Callable[[StateStore], Found]) -> Found | None:
        """What `ask` finds; None where no store is set."""
        return self.state.read(settings.state, ask) if settings.state.is_set else None

    def clean(self, settings: Settings, now: datetime) -> None:
        """Once an hour what is older than the site keeps goes; all of it where nothing is kept any more."""
        from data.state.chat_kept import forget_older

        with self._guard:
            if time.monotonic() - self._cleaned < _CLEAN_SECONDS:
                return
            self._cleaned = time.monotonic()
        before = _since(settings, now) if settings.chat.history_days else now + timedelta(seconds=1)
        try:
            self._asked(settings, lambda store: forget_older(store, before))
        except _Failing as err:
            log.warning("old conversations with the assistant stay for now: %s", err)


def _since(settings: Settings, now: datetime) -> datetime:
    return now - timedelta(days=settings.chat.history_days)


def _day(settings: Settings, now: datetime) -> date:
    return now.astimezone(ZoneInfo(settings.site_timezone)).date()


def _limits(settings: Settings) -> DayLimits:
    """0 in the settings = no limit."""
    from data.state.chat_usage import DayLimits

    chat = settings.chat
    return DayLimits(chat.questions_per_day or None, chat.tokens_per_day or None)
