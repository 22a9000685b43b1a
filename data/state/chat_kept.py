"""Conversations that people had with the assistant: each person's own, for as long as the site keeps them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import Row, and_, delete, func, insert, select, update

from data.errors import NotFound
from data.state.store import StateStore
from data.state.tables import CONVERSATIONS, TURNS

TITLE, COMMENT = 120, 1000
_ID_BYTES = 12


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A conversation by its first question."""

    id: str
    title: str
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A question and what came of it, as plain values that JSON can hold.

    `results` are calls of tools; `checked` holds the figures of the text and what follows from them; `failure` says
    why there is no answer (empty = there is one). `thumb` is 1, -1 or None.
    """

    id: str
    question: str
    text: str
    asked_at: datetime
    results: tuple[Mapping[str, Any], ...] = ()
    checked: Mapping[str, Any] = field(default_factory=dict)
    failure: Mapping[str, Any] = field(default_factory=dict)
    is_cut: bool = False
    thumb: int | None = None
    comment: str = ""


def new_id() -> str:
    """A name that nobody guesses, for a conversation or a turn."""
    return secrets.token_hex(_ID_BYTES)


def keep_turn(store: StateStore, user: str, conversation: str, turn: KeptTurn) -> None:
    """Put a turn at the end of the user's conversation, which begins with it where it is not there.

    Raises NotFound where the conversation is another person's.
    """
    at = int(turn.asked_at.timestamp())
    with store.connection() as connection:
        owner = connection.execute(select(CONVERSATIONS.c.user).where(CONVERSATIONS.c.id == conversation)).scalar()
        if owner is None:
            values = {"id": conversation, "user": user, "title": _title(turn.question), "created_at": at}
            connection.execute(insert(CONVERSATIONS).values(**values, asked_at=at))
        elif owner != user:
            raise _none()
        else:
            connection.execute(update(CONVERSATIONS).where(CONVERSATIONS.c.id == conversation).values(asked_at=at))
        last = select(func.coalesce(func.max(TURNS.c.number), 0)).where(TURNS.c.conversation == conversation)
        number = connection.execute(last).scalar_one() + 1
        connection.execute(insert(TURNS).values(**_values(turn), conversation=conversation, user=user, number=number))


def conversations(store: StateStore, user: str, since: datetime, most: int = 100) -> tuple[KeptConversation, ...]:
    """The user's own, the newest first, of those with a question since then."""
    query = select(CONVERSATIONS).where(CONVERSATIONS.c.user == user, CONVERSATIONS.c.asked_at >= since.timestamp())
    with store.connection() as connection:
        rows = connection.execute(query.order_by(CONVERSATIONS.c.asked_at.desc(), CONVERSATIONS.c.id).limit(most))
        return tuple(KeptConversation(row.id, row.title, _time(row.asked_at)) for row in rows)


def turns(store: StateStore, user: str, conversation: str, since: datetime) -> tuple[KeptTurn, ...]:
    """The turns of the user's conversation in their order; none where it is not theirs, not there, or too old."""
    is_known = select(CONVERSATIONS.c.id).where(
        CONVERSATIONS.c.id == conversation, CONVERSATIONS.c.user == user, CONVERSATIONS.c.asked_at >= since.timestamp()
    )
    query = select(TURNS).where(TURNS.c.conversation.in_(is_known), TURNS.c.user == user).order_by(TURNS.c.number)
    with store.connection() as connection:
        return tuple(_turn(row) for row in connection.execute(query))


def drop_from(store: StateStore, user: str, conversation: str, turn: str) -> None:
    """Take back this turn and those after it: the question is asked anew. Another person's stay."""
    mine = and_(TURNS.c.conversation == conversation, TURNS.c.user == user)
    number = select(TURNS.c.number).where(TURNS.c.id == turn, mine).scalar_subquery()
    with store.connection() as connection:
        connection.execute(delete(TURNS).where(mine, TURNS.c.number >= number))


def judge_turn(store: StateStore, user: str, turn: str, thumb: int | None, comment: str) -> None:
    """Keep what the user thinks of their turn. Raises NotFound for another's and for one that is not there."""
    with store.connection() as connection:
        found = connection.execute(
            update(TURNS).where(TURNS.c.id == turn, TURNS.c.user == user).values(thumb=thumb, comment=comment[:COMMENT])
        )
    if not found.rowcount:
        raise _none()


def forget_conversations(store: StateStore, user: str, ids: Sequence[str] | None = None) -> int:
    """Delete the user's conversations (of these ids, None = all) with all that was said; how many there were."""
    of_user = CONVERSATIONS.c.user == user
    chosen = of_user if ids is None else and_(of_user, CONVERSATIONS.c.id.in_(ids))
    with store.connection() as connection:
        connection.execute(delete(TURNS).where(TURNS.c.conversation.in_(select(CONVERSATIONS.c.id).where(chosen))))
        if ids is None:
            connection.execute(delete(TURNS).where(TURNS.c.user == user))
        return int(connection.execute(delete(CONVERSATIONS).where(chosen)).rowcount)


def forget_older(store: StateStore, before: datetime) -> int:
    """Delete everybody's conversations without a question since then; how many there were."""
    old = CONVERSATIONS.c.asked_at < before.timestamp()
    with store.connection() as connection:
        connection.execute(delete(TURNS).where(TURNS.c.conversation.in_(select(CONVERSATIONS.c.id).where(old))))
        return int(connection.execute(delete(CONVERSATIONS).where(old)).rowcount)


def _title(question: str) -> str:
    words = " ".join(_storable(question).split())
    return words if len(words) <= TITLE else words[: TITLE - 1] + "…"


def _none() -> NotFound:
    return NotFound("There is no such conversation", hint="It was deleted, or it is another person's.")


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _values(turn: KeptTurn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "asked_at": int(turn.asked_at.timestamp()),
        "question": _storable(turn.question),
        "text": _storable(turn.text),
        "results": _json(turn.results),
        "checked": _json(turn.checked),
        "failure": _json(turn.failure),
        "is_cut": turn.is_cut,
        "thumb": turn.thumb,
        "comment": turn.comment or None,
    }


def _storable(text: str) -> str:
    """PostgreSQL takes no NUL, and no database half a character."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _json(value: Any) -> str:
    """JSON as text, in which NUL stands escaped. What JSON does not know is kept as its text."""
    return _storable(json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":")))


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _turn(row: Row[Any]) -> KeptTurn:
    return KeptTurn(
        id=row.id,
        question=row.question,
        text=row.text,
        asked_at=_time(row.asked_at),
        results=tuple(orjson.loads(row.results)),
        checked=orjson.loads(row.checked),
        failure=orjson.loads(row.failure),
        is_cut=row.is_cut,
        thumb=row.thumb,
        comment=row.comment or "",
    )
