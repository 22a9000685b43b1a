"""When the last pass that acts ended."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from policy.store.told import tell, told_at

_KIND, _SUBJECT = "pass", "last"


def note_pass(connection: Connection, now: datetime) -> None:
    tell(connection, _KIND, _SUBJECT, now)


def last_pass(connection: Connection) -> datetime | None:
    """None = none has ended yet."""
    return told_at(connection, _KIND, _SUBJECT)
