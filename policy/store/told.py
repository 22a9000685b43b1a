"""Who was told what, and when, so that nobody hears the same every few minutes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from data.enforcement.tables import TOLD


def told_at(connection: Connection, kind: str, subject: str) -> datetime | None:
    """When the subject (a user, a text) was last told something of this kind; None = never."""
    row = connection.execute(select(TOLD.c.told_at).where(TOLD.c.kind == kind, TOLD.c.subject == subject)).first()
    return None if row is None else row.told_at


def tell(connection: Connection, kind: str, subject: str, now: datetime) -> None:
    """Write down that it was told now."""
    connection.execute(delete(TOLD).where(TOLD.c.kind == kind, TOLD.c.subject == subject))
    connection.execute(insert(TOLD).values(kind=kind, subject=subject, told_at=now))


def forget_told(connection: Connection, before: datetime) -> None:
    connection.execute(delete(TOLD).where(TOLD.c.told_at < before))


def claim(connection: Connection, kind: str, subject: str, now: datetime, before: datetime) -> bool:
    """Take the right to tell it now: False when it was told after `before`, also by another process a moment ago. The
    claim stands when the telling fails in a way that may have told it; else give it back with `unclaim`."""
    mine = (TOLD.c.kind == kind) & (TOLD.c.subject == subject)
    if connection.execute(update(TOLD).where(mine & (TOLD.c.told_at <= before)).values(told_at=now)).rowcount:
        return True
    try:
        with connection.begin_nested():
            connection.execute(insert(TOLD).values(kind=kind, subject=subject, told_at=now))
    except IntegrityError:
        return False
    return True


def unclaim(connection: Connection, kind: str, subject: str, was: datetime | None) -> None:
    """Give a claim back: it was not told, and last at `was` (None = never)."""
    if was is None:
        connection.execute(delete(TOLD).where(TOLD.c.kind == kind, TOLD.c.subject == subject))
    else:
        tell(connection, kind, subject, was)


def told_of(connection: Connection, prefix: str) -> dict[tuple[str, str], datetime]:
    """When each subject was last told, by (subject, the rest of the kind) of the kinds that begin so."""
    rows = connection.execute(select(TOLD).where(TOLD.c.kind.startswith(prefix, autoescape=True)))
    return {(row.subject, row.kind.removeprefix(prefix)): row.told_at for row in rows}
