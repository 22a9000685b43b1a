"""A connection to PostgreSQL that is not waited for without end.

libpq's own limits see a host that vanished. A server that hangs (stopped, out of disk or memory) keeps its connections
alive, so whoever asks must give up by itself.
"""

from __future__ import annotations

from traceback import clear_frames
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

Found = TypeVar("Found")
_LOOK_SECONDS = 0.1  # psycopg's own: how often it looks for Ctrl-C
_MORE_SECONDS = 1.0


def patiently_connected(seconds: float, *arguments: Any, **options: Any) -> psycopg.Connection[Any]:
    """A connection that waits so long for each answer. The server, too, gives a statement up, shortly after: one that
    waits for a lock does not see that nobody waits for it any more, and would keep its place as long as the lock."""
    try:
        connection = patient_connection(seconds).connect(*arguments, **options)
    except psycopg.OperationalError as err:
        # psycopg's frames hold the half-made connection in a ring: it would stay open until the collector comes.
        clear_frames(err.__traceback__)
        raise
    milliseconds = str(int((seconds + _MORE_SECONDS) * 1000))
    connection.execute("SELECT set_config('statement_timeout', %s, false)", [milliseconds])
    connection.commit()
    return connection


def patient_connection(seconds: float) -> type[psycopg.Connection[Any]]:
    """The class of connections that wait so long for each answer, and are closed after one that did not come."""

    class Patient(psycopg.Connection[Any]):
        def wait(self, gen: PQGen[Found], interval: float = _LOOK_SECONDS, timeout: float | None = None) -> Found:
            try:
                return super().wait(gen, interval, seconds if timeout is None else timeout)
            except psycopg.OperationalError as err:
                if timeout is not None or self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                    raise
                self.pgconn.finish()  # half an answer may still come: nobody could use this connection again
                raise psycopg.OperationalError(f"no answer within {seconds:g} s") from err

    return Patient
