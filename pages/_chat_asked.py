"""What the browser sends with a question, checked: the question, its conversation, and what is on screen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from chat.assistant import refused_question
from chat.model import OnScreen, Turn
from data.errors import BadRequest
from data.model import Viewer
from data.state.chat_kept import new_id
from pages._chat_desk import Question
from settings import ChatSettings

MOST_PATH, MOST_PAST, MOST_PAST_TEXT = 2000, 6, 4000
PAST_BYTES = 4 * 2 * MOST_PAST * MOST_PAST_TEXT
_ID = re.compile(r"[0-9a-f]{24}")


def body_bytes(chat: ChatSettings) -> int:
    """The most bytes of a request that asks: JSON may write each byte of a question as six."""
    return 6 * chat.question_bytes + PAST_BYTES + 6 * MOST_PATH


def question_of(given: Mapping[str, Any], chat: ChatSettings, viewer: Viewer) -> Question:
    """Raises BadRequest that names what is wrong."""
    text = _text(given, "question")
    refused = refused_question(text, chat)
    if refused is not None:
        raise BadRequest(refused.message, hint=refused.hint)
    return Question(
        text=text,
        conversation=_id(given, "conversation") or new_id(),
        turn=new_id(),
        on_screen=screen_of(_text(given, "path"), viewer),
        replaces=_id(given, "replaces"),
        past=_past(given.get("past", [])),
        is_for_model=chat.has_model and not text.lstrip().startswith("/"),
    )


def screen_of(path: str, viewer: Viewer) -> OnScreen:
    """What an address below the prefix shows: a job, a node, a user. A path that is none says nothing."""
    if len(path) > MOST_PATH or not path.startswith("/"):
        return OnScreen()
    place, _, name = urlsplit(path).path.strip("/").partition("/")
    shown = unquote(name)[:200]
    if place == "me":
        return OnScreen(path=path, user=viewer.user)
    return OnScreen(
        path=path,
        job=shown if place == "jobs" else "",
        node=shown if place == "nodes" else "",
        user=shown if place == "users" else "",
    )


def _text(given: Mapping[str, Any], name: str) -> str:
    found = given.get(name, "")
    if not isinstance(found, str):
        raise BadRequest(f"{name} is no text", hint="Send a text.")
    return found


def _id(given: Mapping[str, Any], name: str) -> str:
    found = _text(given, name)
    if found and not _ID.fullmatch(found):
        raise BadRequest(f"{name}: {found[:40]!r} names nothing", hint="Leave it out to begin anew.")
    return found


def _past(given: Any) -> tuple[Turn, ...]:
    """What the browser remembers of the conversation: text alone, so that no figure is traced to it."""
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise BadRequest("past is no list of turns", hint='Send [{"question": "...", "text": "..."}].')
    return tuple(
        Turn(_text(one, "question")[:MOST_PAST_TEXT], _text(one, "text")[:MOST_PAST_TEXT]) for one in given[-MOST_PAST:]
    )
