"""One enforcer at a time, on one host or several."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from data.history.lease import HeldByAnother, Lease
from data.state.store import StateStore

_NUMBER = 0x66756C6C77617270 >> 1
"""Of the PostgreSQL lock: "fullwarp", within a signed bigint."""
_POLL_SECONDS = 0.2


class Lock(Protocol):
    """The right to act."""

    def require(self) -> None:
        """Raise HeldByAnother when it is not ours any more."""


@contextmanager
def enforcing(store: StateStore, wait_seconds: float) -> Iterator[Lock]:
    """Hold the lock beside the SQLite file, or in the database. Raises HeldByAnother after `wait_seconds`."""
    file = store.file
    if file is None:
        with _in_database(store, wait_seconds) as held:
            yield held
        return
    lease = Lease(file.parent, work="is enforcing")
    lease.take(wait_seconds)
    try:
        yield lease
    finally:
        lease.release()


@contextmanager
def _in_database(store: StateStore, wait_seconds: float) -> Iterator[Lock]:
    connection = store.hold()
    try:
        try:
            _take(connection, wait_seconds)
        except SQLAlchemyError as err:
            raise store.unreachable(err) from err
        yield _DatabaseLock(connection)
    finally:
        with suppress(SQLAlchemyError):
            connection.invalidate()
        connection.close()


def _take(connection: Connection, wait_seconds: float) -> None:
    until = time.monotonic() + wait_seconds
    while not connection.scalar(text(f"SELECT pg_try_advisory_lock({_NUMBER})")):
        connection.commit()
        if time.monotonic() >= until:
            raise HeldByAnother("Another process is enforcing", hint="Try again when it is done.")
        time.sleep(_POLL_SECONDS)
    connection.commit()


class _DatabaseLock:
    """Ours for as long as its connection lives."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def require(self) -> None:
        try:
            self._connection.scalar(text("SELECT 1"))
            self._connection.commit()
        except SQLAlchemyError as err:
            raise HeldByAnother("The connection that held the lock is gone: another process may be enforcing") from err
