"""The enforcer's database stops answering in the middle of a pass: the pass ends soon, nothing is done that is not
written down, and the next passes go on from there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import pytest
from pydantic import SecretStr

from data.enforcement.tables import METADATA
from data.errors import FullwarpError, SourceUnreachable
from data.history.lease import HeldByAnother
from data.state.engine import make_engine
from data.state.store import StateStore
from policy.enforcer.lock import enforcing
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_AUDIT, AFTER_CANCEL, AFTER_COMMIT, BEFORE_AUDIT
from policy.store.audit import audit_rows, open_rows
from settings import EnforcementSettings
from tests.policy.enforcement_store import opened
from tests.policy.enforcer_world import World
from tests.policy.random_lives import T0, life_at
from tests.policy.test_enforcer_passes import EVERY, IDLE
from tests.services.relay import Relay

CANCEL = 100
"""The minute in which the ladder of an idle job ends."""


@dataclass
class SilentAt(World):
    """Its database falls silent when a pass reaches the place. `direct` is a way to it past the relay."""

    relay: Relay = field(default_factory=lambda: Relay(0))
    direct: StateStore | None = None
    place: str = ""

    def reached(self, name: str) -> None:
        if name == self.place:
            self.place = ""
            self.relay.hush()

    def open_cancels(self) -> list:
        assert self.direct is not None
        with self.direct.connection() as connection:
            return [row for row in open_rows(connection, "demo") if row.act.cancel_id is not None]

    def passes(self, first: int, last: int) -> None:
        for minute in range(first, last + 1, EVERY):
            self.minute = minute
            self.one_pass()


@pytest.fixture
def world(postgres_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentAt]:
    monkeypatch.setattr("data.state.store.make_engine", partial(make_engine, answer_seconds=0.5))
    with Relay(postgres_port) as relay:
        direct, through = (opened(_settings(port)) for port in (postgres_port, relay.port))
        yield SilentAt([life_at(0, IDLE, 1)], through, relay=relay, direct=direct)
        relay.speak()
        with direct.connection() as connection:
            for table in reversed(METADATA.sorted_tables):
                connection.execute(table.delete())
        for store in (direct, through):
            store.close()


def _settings(port: int) -> EnforcementSettings:
    return EnforcementSettings(url=SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{port}/fullwarp_enforced"))


@pytest.mark.parametrize("place", [BEFORE_AUDIT, AFTER_AUDIT, AFTER_CANCEL, AFTER_ACCEPT, AFTER_COMMIT])
def test_nothing_is_done_unwritten_or_twice_wherever_the_database_falls_silent(world: SilentAt, place: str) -> None:
    world.passes(0, CANCEL - EVERY)
    assert world.ends == [] and [mail.acts[0][3] for mail in world.mails] == [1, 2]
    world.minute, world.place = CANCEL, place
    with suppress(FullwarpError):
        report = world.one_pass()
        assert report is None or report.faults
    assert world.place == "", "the place was reached"
    assert len(world.ends) == (place != BEFORE_AUDIT)
    assert world.direct is not None
    written = {row.act.key for row in audit_rows(world.direct, "demo", T0)}
    assert {end.act for end in world.ends} <= written
    world.relay.speak()
    world.passes(CANCEL + EVERY, CANCEL + 4 * EVERY)
    assert [end.wanted for end in world.ends] == ["100"]
    assert world.open_cancels() == []


def test_a_pass_that_cannot_open_its_database_does_nothing(world: SilentAt) -> None:
    world.passes(0, 40)
    world.relay.hush()
    world.minute = 45
    with pytest.raises(SourceUnreachable):
        world.one_pass()
    assert world.tried == []


def test_a_lock_is_lost_when_its_database_falls_silent_and_none_is_given(world: SilentAt) -> None:
    with enforcing(world.store, 0.0) as lock:
        lock.require()
        world.relay.hush()
        with pytest.raises(HeldByAnother):
            lock.require()
    with pytest.raises(SourceUnreachable), enforcing(world.store, 0.0):
        pytest.fail("a lock from a database that does not answer")


def test_a_database_that_falls_silent_while_the_lock_is_waited_for_gives_none(world: SilentAt) -> None:
    assert world.direct is not None
    with enforcing(world.direct, 0.0):
        threading.Timer(0.5, world.relay.hush).start()
        with pytest.raises(SourceUnreachable, match="no answer"), enforcing(world.store, 60.0):
            pytest.fail("two at once")
