"""The way to a database: how long anybody waits for it, and how many connections one process has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from data.errors import SettingsError

WAIT_SECONDS = 10.0
"""For a connection of SQLite's only writer, and for a host that vanished without a word."""
ANSWER_SECONDS = 5.0
"""For a connection, one of the pool's, or one statement's answer."""
CONNECTIONS, MORE_CONNECTIONS = 3, 2
"""Of one engine, kept and at most beside them. Each worker has four engines, and PostgreSQL admits 100 by default."""

_OPTIONS: Mapping[str, dict[str, Any]] = {
    "sqlite": {"timeout": WAIT_SECONDS},
    "postgresql": {
        "tcp_user_timeout": int(WAIT_SECONDS * 1000),
        "keepalives_idle": int(WAIT_SECONDS),
        "keepalives_interval": int(WAIT_SECONDS),
        "keepalives_count": 2,
    },
}


def make_engine(address: str | URL, section: str, *, answer_seconds: float | None = ANSWER_SECONDS) -> Engine:
    """The engine of the store that the settings' `section` names; None = a statement may take as long as it takes.

    Raises SettingsError for an address that cannot be used.
    """
    try:
        url = make_url(address)
        backend = url.get_backend_name()
        seconds = answer_seconds or WAIT_SECONDS
        engine = create_engine(url, connect_args=_options(backend, seconds), **_pool(backend, seconds))
        if answer_seconds is not None and (backend, url.get_driver_name()) == ("postgresql", "psycopg"):
            event.listen(engine, "do_connect", partial(_connected, answer_seconds))
    except (ArgumentError, ImportError, SQLAlchemyError) as err:
        raise SettingsError(
            f"{section}.url cannot be used: {first_line(err)}",
            hint="Such as postgresql+psycopg://fullwarp@host/fullwarp, with the extra fullwarp[postgres] installed.",
        ) from err
    return engine


def _options(backend: str, seconds: float) -> dict[str, Any]:
    waits = {} if backend == "sqlite" else {"connect_timeout": math.ceil(seconds)}
    return {**waits, **_OPTIONS.get(backend, {})}


def _pool(backend: str, seconds: float) -> dict[str, Any]:
    """A file's lock has its own patience; a server's connection may have died since it was last used."""
    if backend == "sqlite":
        return {}
    return {
        "pool_pre_ping": True,
        "pool_size": CONNECTIONS,
        "max_overflow": MORE_CONNECTIONS,
        "pool_timeout": seconds,
    }


def _connected(seconds: float, dialect: Any, record: Any, arguments: Any, options: dict[str, Any]) -> Any:
    from data.state.postgres import patiently_connected

    return patiently_connected(seconds, *arguments, **options)


def first_line(err: Exception) -> str:
    """Without SQL and its parameters; of a wrong address, not the address, which may hold a password."""
    if isinstance(err, ArgumentError):
        return "it is no address of a database"
    lines = str(getattr(err, "orig", None) or err).splitlines()
    return lines[0][:200] if lines else type(err).__name__
