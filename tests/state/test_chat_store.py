"""Conversations and counts in the application store: each person's own, as long as the site keeps them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from data.errors import NotFound, SettingsError
from data.state.chat_kept import (
    KeptTurn,
    conversations,
    drop_from,
    forget_conversations,
    forget_older,
    judge_turn,
    keep_turn,
    new_id,
    turns,
)
from data.state.chat_usage import (
    DayLimits,
    LimitReached,
    UsageRow,
    add_tokens,
    forget_usage,
    take_question,
    thumbs_since,
    usage_since,
)
from data.state.store import StateStore, open_store, upgrade_store
from data.state.tables import CHAT_USAGE, CONVERSATIONS, TURNS
from settings import StateSettings

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
DAY = NOW.date()
LONG_AGO = NOW - timedelta(days=90)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StateStore]:
    if request.param == "sqlite":
        settings = StateSettings(directory=tmp_path / "state")
    else:
        port = request.getfixturevalue("postgres_port")
        settings = StateSettings(url=SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{port}/fullwarp_state"))
    made = open_store(settings, writes=True)
    assert made is not None
    yield made
    with made.connection() as connection:
        for table in (TURNS, CONVERSATIONS, CHAT_USAGE):
            connection.execute(table.delete())
    made.close()


def turn(question: str = "Who wastes most?", **more: object) -> KeptTurn:
    made = KeptTurn(new_id(), question, "Job 48211 does.", NOW)
    return replace(made, **more)  # type: ignore[arg-type]


def asked(store: StateStore, user: str, *made: KeptTurn) -> str:
    conversation = new_id()
    for one in made or (turn(),):
        keep_turn(store, user, conversation, one)
    return conversation


def test_a_turn_comes_back_as_it_was_kept(store: StateStore) -> None:
    results = ({"tool": "find_jobs", "arguments": {"sort": "idle"}, "value": {"rows": [{"idle_gpu_hours": 40.2}]}},)
    kept = turn(
        "Wer verschwendet „am meisten“? 🙂", results=results, checked={"figures": [[0, 3, "c", "p"]]}, is_cut=True
    )
    conversation = asked(store, "alice", kept, turn("And now?"))
    assert turns(store, "alice", conversation, LONG_AGO)[0] == kept
    assert [one.question for one in turns(store, "alice", conversation, LONG_AGO)][1] == "And now?"
    (listed,) = conversations(store, "alice", LONG_AGO)
    assert (listed.id, listed.title, listed.asked_at) == (conversation, kept.question, NOW)


def test_nobody_reads_judges_or_goes_on_with_anothers_conversation(store: StateStore) -> None:
    mine = turn()
    conversation = asked(store, "alice", mine)
    assert turns(store, "bob", conversation, LONG_AGO) == () and conversations(store, "bob", LONG_AGO) == ()
    with pytest.raises(NotFound):
        keep_turn(store, "bob", conversation, turn())
    with pytest.raises(NotFound):
        judge_turn(store, "bob", mine.id, 1, "")
    drop_from(store, "bob", conversation, mine.id)
    assert forget_conversations(store, "bob", [conversation]) == 0 and forget_conversations(store, "bob") == 0
    assert turns(store, "alice", conversation, LONG_AGO) == (mine,)


def test_one_conversation_or_all_of_a_person_are_deleted_with_all_that_was_said(store: StateStore) -> None:
    first, second, other = asked(store, "alice"), asked(store, "alice"), asked(store, "bob")
    assert forget_conversations(store, "alice", [first]) == 1
    assert [one.id for one in conversations(store, "alice", LONG_AGO)] == [second]
    assert forget_conversations(store, "alice") == 1
    with store.connection() as connection:
        assert connection.execute(text("SELECT count(*) FROM chat_turns")).scalar() == 1
    assert len(turns(store, "bob", other, LONG_AGO)) == 1


def test_what_is_older_than_the_site_keeps_is_not_shown_and_goes(store: StateStore) -> None:
    old = asked(store, "alice", turn(asked_at=NOW - timedelta(days=91)))
    new = asked(store, "alice")
    assert [one.id for one in conversations(store, "alice", LONG_AGO)] == [new]
    assert turns(store, "alice", old, LONG_AGO) == ()
    assert forget_older(store, LONG_AGO) == 1 and forget_older(store, LONG_AGO) == 0
    assert len(turns(store, "alice", new, LONG_AGO)) == 1


def test_an_edited_question_takes_back_the_turns_from_it_on(store: StateStore) -> None:
    made = [turn(f"question {number}") for number in range(3)]
    conversation = asked(store, "alice", *made)
    drop_from(store, "alice", conversation, made[1].id)
    keep_turn(store, "alice", conversation, turn("edited"))
    assert [one.question for one in turns(store, "alice", conversation, LONG_AGO)] == ["question 0", "edited"]


def test_an_opinion_is_kept_changed_and_counted(store: StateStore) -> None:
    made = turn()
    conversation = asked(store, "alice", made)
    judge_turn(store, "alice", made.id, 1, "")
    judge_turn(store, "alice", made.id, -1, "wrong node")
    (kept,) = turns(store, "alice", conversation, LONG_AGO)
    assert (kept.thumb, kept.comment) == (-1, "wrong node")
    assert thumbs_since(store, LONG_AGO.timestamp()) == (0, 1)
    with pytest.raises(NotFound):
        judge_turn(store, "alice", "nope", 1, "")


@pytest.mark.parametrize(
    "words", ["null \0 byte", "half \ud800 a character", "'; DROP TABLE chat_turns; --", "x" * 20_000]
)
def test_no_text_breaks_the_store(store: StateStore, words: str) -> None:
    conversation = asked(store, "alice", turn(words, text=words, results=({"value": {"name": words[:50]}},)))
    (kept,) = turns(store, "alice", conversation, LONG_AGO)
    assert len(kept.question) >= len(words) - 1


def test_questions_are_counted_by_person_and_day_and_end_at_the_limit(store: StateStore) -> None:
    limits = DayLimits(questions=2)
    for _ in range(2):
        take_question(store, "alice", DAY, limits)
    with pytest.raises(LimitReached, match=r"You asked 2 questions today, and 2 a day are allowed\."):
        take_question(store, "alice", DAY, limits)
    take_question(store, "bob", DAY, limits)
    take_question(store, "alice", DAY + timedelta(days=1), limits)
    assert [(row.user, row.questions) for row in usage_since(store, DAY)] == [("alice", 3), ("bob", 1)]


def test_tokens_end_a_day_too_and_what_was_not_counted_is_said(store: StateStore) -> None:
    limits = DayLimits(tokens=1000)
    take_question(store, "alice", DAY, limits)
    add_tokens(store, "alice", DAY, 900, 99)
    take_question(store, "alice", DAY, limits)
    add_tokens(store, "alice", DAY, None, None)
    add_tokens(store, "alice", DAY, 1, None)
    with pytest.raises(LimitReached, match="1000 tokens today, and 1000 a day"):
        take_question(store, "alice", DAY, limits)
    assert usage_since(store, DAY) == (UsageRow("alice", 2, 901, 99, 1),)
    assert forget_usage(store, "alice") == 1 and usage_since(store, date(2000, 1, 1)) == ()


def test_several_workers_together_take_no_more_than_the_limit(store: StateStore) -> None:
    taken, refused = [], []

    def ask() -> None:
        for _ in range(5):
            try:
                take_question(store, "alice", DAY, DayLimits(questions=12))
                taken.append(1)
            except LimitReached:
                refused.append(1)

    workers = [threading.Thread(target=ask) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join(60)
    assert (len(taken), len(refused)) == (12, 8)
    assert usage_since(store, DAY)[0].questions == 12


def test_a_store_of_the_version_before_asks_for_its_upgrade(tmp_path: Path) -> None:
    settings = StateSettings(directory=tmp_path)
    store = open_store(settings, writes=True)
    assert store is not None
    with store.connection() as connection:
        for table in ("chat_turns", "chat_conversations", "chat_usage"):
            connection.execute(text(f"DROP TABLE {table}"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    store.close()
    with pytest.raises(SettingsError, match="0002") as caught:
        open_store(settings, writes=True)
    assert "fullwarp state upgrade" in caught.value.hint
    assert upgrade_store(settings) == ("0002", "0003")
    opened = open_store(settings, writes=True)
    assert opened is not None and conversations(opened, "alice", LONG_AGO) == ()
    opened.close()
