"""How much each person asks of the assistant in a day: counted in the store, so that a limit holds over all workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from data.errors import FullwarpError
from data.state.store import StateStore
from data.state.tables import CHAT_USAGE, TURNS

_TRIES = 3


class LimitReached(FullwarpError):
    """A person asked as much as a day allows."""

    code = "limit"


@dataclass(frozen=True, slots=True)
class DayLimits:
    """What one person may ask in a day; None = no limit."""

    questions: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One person's questions and tokens over some days. `uncounted` questions had an answer without token counts."""

    user: str
    questions: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int


def take_question(store: StateStore, user: str, day: date, limits: DayLimits) -> None:
    """Count one more question of the user's. Raises LimitReached where the day allows none."""
    for _ in range(_TRIES):
        with store.connection() as connection:
            if connection.execute(_one_more(user, day, limits)).rowcount:
                return
            asked = connection.execute(_of_day(user, day)).first()
        if asked is not None:
            raise limit_reached(asked.questions, asked.prompt_tokens + asked.completion_tokens, limits)
        if limits.questions == 0:
            raise limit_reached(0, 0, limits)
        if _begun(store, user, day):
            return


def limit_reached(questions: int, tokens: int, limits: DayLimits) -> LimitReached:
    """Which of the limits it is, in words."""
    if limits.questions is not None and questions >= limits.questions:
        said = f"You asked {questions} questions today, and {limits.questions} a day are allowed."
    else:
        said = f"Your questions took {tokens} tokens today, and {limits.tokens} a day are allowed."
    return LimitReached(said, hint="It goes on tomorrow. Commands such as /job 123 work without the model.")


def add_tokens(store: StateStore, user: str, day: date, prompt: int | None, completion: int | None) -> None:
    """Add what a server counted for one answer; None where it did not say."""
    is_counted = prompt is not None or completion is not None
    of_day = (CHAT_USAGE.c.user == user, CHAT_USAGE.c.day == day)
    added = {
        "prompt_tokens": CHAT_USAGE.c.prompt_tokens + (prompt or 0),
        "completion_tokens": CHAT_USAGE.c.completion_tokens + (completion or 0),
        "uncounted": CHAT_USAGE.c.uncounted + (0 if is_counted else 1),
    }
    with store.connection() as connection:
        connection.execute(update(CHAT_USAGE).where(*of_day).values(added))


def usage_since(store: StateStore, since: date, most: int = 100) -> tuple[UsageRow, ...]:
    """Counts by person from that day on, the most questions first. Nothing of what was said."""
    sums = [func.sum(column) for column in _COUNTS]
    query = select(CHAT_USAGE.c.user, *sums).where(CHAT_USAGE.c.day >= since).group_by(CHAT_USAGE.c.user)
    with store.connection() as connection:
        rows = connection.execute(query.order_by(sums[0].desc(), CHAT_USAGE.c.user).limit(most))
        return tuple(UsageRow(row[0], *(int(value) for value in row[1:])) for row in rows)


def thumbs_since(store: StateStore, since: float) -> tuple[int, int]:
    """How many answers were found good and bad, of those kept since then (seconds since 1970)."""
    up, down = (func.sum(case((TURNS.c.thumb == value, 1), else_=0)) for value in (1, -1))
    with store.connection() as connection:
        row = connection.execute(select(up, down).where(TURNS.c.asked_at >= since)).one()
    return int(row[0] or 0), int(row[1] or 0)


def forget_usage(store: StateStore, user: str) -> int:
    """Delete a person's counts; of how many days there were."""
    with store.connection() as connection:
        return int(connection.execute(delete(CHAT_USAGE).where(CHAT_USAGE.c.user == user)).rowcount)


_COUNTS: tuple[Any, ...] = (
    CHAT_USAGE.c.questions,
    CHAT_USAGE.c.prompt_tokens,
    CHAT_USAGE.c.completion_tokens,
    CHAT_USAGE.c.uncounted,
)


def _of_day(user: str, day: date) -> Any:
    return select(*_COUNTS).where(CHAT_USAGE.c.user == user, CHAT_USAGE.c.day == day)


def _one_more(user: str, day: date, limits: DayLimits) -> Any:
    """One statement that looks and counts, so that two workers cannot both take the last one."""
    wanted = [CHAT_USAGE.c.user == user, CHAT_USAGE.c.day == day, *_below(limits)]
    return update(CHAT_USAGE).where(*wanted).values(questions=CHAT_USAGE.c.questions + 1)


def _below(limits: DayLimits) -> Iterable[Any]:
    if limits.questions is not None:
        yield CHAT_USAGE.c.questions < limits.questions
    if limits.tokens is not None:
        yield CHAT_USAGE.c.prompt_tokens + CHAT_USAGE.c.completion_tokens < limits.tokens


def _begun(store: StateStore, user: str, day: date) -> bool:
    """The first question of a day; False where another worker wrote it at the same moment."""
    with store.connection() as connection:
        return _inserted(connection, user, day)


def _inserted(connection: Connection, user: str, day: date) -> bool:
    first = {"questions": 1, "prompt_tokens": 0, "completion_tokens": 0, "uncounted": 0}
    try:
        with connection.begin_nested():
            connection.execute(insert(CHAT_USAGE).values(user=user, day=day, **first))
    except IntegrityError:
        return False
    return True
