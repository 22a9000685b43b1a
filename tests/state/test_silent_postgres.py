"""A PostgreSQL that takes connections and never answers, and one whose backends are stopped: nobody waits for ever, the
server is left alone, and all works again without a restart."""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import psycopg
import pytest
from pydantic import SecretStr
from sqlalchemy import text

from data.breaker import Breaker
from data.errors import SettingsError, SourceUnreachable
from data.state.engine import CONNECTIONS, MORE_CONNECTIONS, make_engine
from data.state.opened import OpenedState
from data.state.store import StateStore, open_store
from data.state.tokens import TokenRole, create_token, find_token, revoke_token
from settings import Settings, StateSettings
from terminal.bearers import TokenHolders
from tests.services.relay import Relay

THREADS, QUESTIONS = 12, 300
REST_SECONDS = 1.0
MOST = CONNECTIONS + MORE_CONNECTIONS


@pytest.fixture
def relay(postgres_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """In front of the server; statements through it are waited for half a second."""
    monkeypatch.setattr("data.state.store.make_engine", partial(make_engine, answer_seconds=0.5))
    with Relay(postgres_port) as made:
        yield made


@pytest.fixture
def settings(relay: Relay) -> StateSettings:
    return StateSettings(url=SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{relay.port}/fullwarp_state"))


@pytest.fixture
def store(settings: StateSettings) -> Iterator[StateStore]:
    made = open_store(settings, writes=True)
    assert made is not None
    yield made
    made.close()


@pytest.fixture
def token(store: StateStore) -> str:
    now = datetime.now(UTC)
    return create_token(store, "sam", TokenRole.STAFF, now, now + timedelta(days=1))[1]


def resting_shortly() -> OpenedState:
    return OpenedState(_breaker=Breaker(REST_SECONDS))


def holders_at(settings: StateSettings) -> TokenHolders:
    return TokenHolders(Settings(state=settings), lambda: datetime.now(UTC), resting_shortly())


def outcome(ask: Callable[[], object]) -> object:
    """What it gives, or the error's kind."""
    try:
        return ask()
    except SourceUnreachable as err:
        return type(err)


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_tokens_wait_for_a_silent_server_shortly_and_few_ask_it(
    relay: Relay, settings: StateSettings, token: str
) -> None:
    holders = holders_at(settings)
    assert holders.found(token) is not None
    before = relay.accepted
    relay.hush()
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        seen = set(pool.map(lambda _: outcome(lambda: holders.found(token)), range(QUESTIONS)))
    probes = (time.monotonic() - began) / REST_SECONDS + 1
    assert seen == {SourceUnreachable}
    assert relay.accepted - before <= MOST + 2 * probes
    relay.speak()
    until(lambda: outcome(lambda: holders.found(token)) not in (None, SourceUnreachable))
    until(lambda: relay.standing <= MOST + 1)  # one is of this test


def test_a_revoked_token_stays_outside_whether_the_server_answers_or_not(
    relay: Relay, settings: StateSettings, store: StateStore, token: str
) -> None:
    holders = holders_at(settings)
    found = holders.found(token)
    assert found is not None
    revoke_token(store, found.id, datetime.now(UTC))
    assert holders.found(token) is None
    relay.hush()
    assert outcome(lambda: holders.found(token)) is SourceUnreachable
    relay.speak()
    until(lambda: outcome(lambda: holders.found(token)) is None)


def test_what_is_no_token_asks_no_server_and_mends_no_trust(relay: Relay, settings: StateSettings, token: str) -> None:
    holders = holders_at(settings)
    assert holders.found(token) is not None
    relay.cut()
    assert outcome(lambda: holders.found(token)) is SourceUnreachable
    assert [holders.found(text) for text in ("", "fullwarp_", token + "x", "Basic abc")] == [None] * 4
    relay.mend()
    assert outcome(lambda: holders.found(token)) is SourceUnreachable, "it still rests"


def test_a_server_that_is_silent_from_the_start_is_opened_by_one(relay: Relay, settings: StateSettings) -> None:
    relay.hush()
    opened, before = resting_shortly(), relay.accepted
    with ThreadPoolExecutor(THREADS) as pool:
        seen = set(pool.map(lambda _: outcome(lambda: opened.read(settings, id)), range(THREADS)))
    assert seen == {SourceUnreachable} and relay.accepted - before <= 2
    relay.speak()
    until(lambda: outcome(lambda: opened.read(settings, id)) is not SourceUnreachable)


def test_a_stopped_backend_is_given_up_and_the_next_question_has_another(store: StateStore, token: str) -> None:
    with store.connection() as connection:
        (backend,) = connection.execute(text("SELECT pg_backend_pid()")).one()
    os.kill(backend, signal.SIGSTOP)
    try:
        assert find_token(store, token, datetime.now(UTC)) is not None
        with store.connection() as connection:
            assert connection.execute(text("SELECT pg_backend_pid()")).scalar_one() != backend
    finally:
        os.kill(backend, signal.SIGCONT)


def test_a_backend_that_stops_within_a_transaction_leaves_nothing_half_done(store: StateStore, token: str) -> None:
    with pytest.raises(SourceUnreachable, match=r"no answer within 0\.5 s"), store.connection() as connection:
        (backend,) = connection.execute(text("SELECT pg_backend_pid()")).one()
        connection.execute(text("UPDATE tokens SET note = 'half' WHERE note = ''"))
        os.kill(backend, signal.SIGSTOP)
        try:
            connection.execute(text("SELECT 1"))
        finally:
            os.kill(backend, signal.SIGCONT)
    found = find_token(store, token, datetime.now(UTC))
    assert found is not None and found.note == ""


def test_what_nobody_waits_for_any_more_does_not_wait_for_a_lock(
    postgres_port: int, store: StateStore, token: str
) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with psycopg.connect(f"postgresql://fullwarp@127.0.0.1:{postgres_port}/fullwarp_state") as other:
        other.execute("LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE")
        assert outcome(lambda: find_token(store, token, datetime.now(UTC))) is SourceUnreachable
        until(lambda: other.execute(waiting).fetchone() == (0,))
        other.rollback()
    assert find_token(store, token, datetime.now(UTC)) is not None


def test_a_connection_that_came_to_nothing_is_closed_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql+psycopg://fullwarp@127.0.0.1:{silent.getsockname()[1]}/fullwarp_state"
        gc.disable()
        try:
            assert outcome(StateStore(make_engine(address, "state", answer_seconds=0.5)).hold) is SourceUnreachable
            client, _ = silent.accept()
            client.settimeout(20)
            while client.recv(4096):
                pass
        finally:
            gc.enable()
        client.close()


def test_an_upgrade_of_tables_may_take_its_time(relay: Relay, settings: StateSettings) -> None:
    engine = make_engine(settings.url.get_secret_value(), "state", answer_seconds=None)
    with engine.connect() as connection:
        assert type(connection.connection.dbapi_connection) is psycopg.Connection
        assert connection.execute(text("SELECT pg_sleep(0.7)")).all()
    engine.dispose()


def test_what_is_said_again_and_again_holds_nothing_of_those_who_asked(relay: Relay, settings: StateSettings) -> None:
    relay.cut()
    opened, said = OpenedState(_breaker=Breaker(3600)), []
    for _ in range(50):
        with pytest.raises(SourceUnreachable) as told:
            opened.read(settings, id)
        said.append(len(told.traceback))
    relay.mend()
    assert max(said[1:]) <= said[0] and len({said[1], said[-1]}) == 1
    assert opened._failed is not None and opened._failed.__traceback__ is None


def test_a_store_that_may_not_be_used_keeps_no_connection(relay: Relay, store: StateStore) -> None:
    with store.connection() as connection:
        newest = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        connection.execute(text("UPDATE alembic_version SET version_num = 'unknown'"))
    try:
        settings = StateSettings(url=SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{relay.port}/fullwarp_state"))
        for _ in range(5):
            with pytest.raises(SettingsError, match="unknown"):
                OpenedState().read(settings, id)
        until(lambda: relay.standing <= 1)  # the fixture's own
    finally:
        with store.connection() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :newest"), {"newest": newest})
