"""Who was told what, and when, so that nobody hears the same every few minutes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

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
