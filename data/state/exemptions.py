"""Time-limited exemptions from the rules for low use: who or what, from which rule, until when, why, and by whom."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from data.errors import NotFound
from data.exemption import KeptExemption
from data.state.store import StateStore
from data.state.tables import EXEMPTIONS

_ID_BYTES = 4


def add_exemption(
    store: StateStore, kind: str, name: str, rule: str, reason: str, *, until: datetime, by: str, now: datetime
) -> KeptExemption:
    """Keep a new one, which counts at once. Times are cut to whole seconds."""
    begin, end = (moment.astimezone(UTC).replace(microsecond=0) for moment in (now, until))
    made = KeptExemption(secrets.token_hex(_ID_BYTES), kind, name, rule, reason, by, begin, end)
    values = {
        "id": made.id,
        "kind": kind,
        "name": name,
        "rule": rule,
        "reason": reason,
        "created_by": by,
        "created_at": int(begin.timestamp()),
        "until": int(end.timestamp()),
    }
    with store.connection() as connection:
        connection.execute(insert(EXEMPTIONS).values(values))
    return made


def active_exemptions(store: StateStore, now: datetime) -> tuple[KeptExemption, ...]:
    """Those that count now, in the order in which they were made."""
    query = select(EXEMPTIONS).where(EXEMPTIONS.c.ended_at.is_(None), EXEMPTIONS.c.until > now.timestamp())
    with store.connection() as connection:
        rows = connection.execute(query.order_by(EXEMPTIONS.c.created_at, EXEMPTIONS.c.id))
        return tuple(_exemption(row) for row in rows)


def all_exemptions(store: StateStore) -> tuple[KeptExemption, ...]:
    """All of them, ended ones too, the newest first."""
    with store.connection() as connection:
        rows = connection.execute(select(EXEMPTIONS).order_by(EXEMPTIONS.c.created_at.desc(), EXEMPTIONS.c.id))
        return tuple(_exemption(row) for row in rows)


def end_exemption(store: StateStore, exemption_id: str, by: str, now: datetime) -> KeptExemption:
    """Take one back now. Raises NotFound for an id that none has; one that has ended stays as it is."""
    at = int(now.timestamp())
    with store.connection() as connection:
        connection.execute(
            update(EXEMPTIONS)
            .where(EXEMPTIONS.c.id == exemption_id, EXEMPTIONS.c.ended_at.is_(None), EXEMPTIONS.c.until > at)
            .values(ended_by=by, ended_at=at)
        )
        row = connection.execute(select(EXEMPTIONS).where(EXEMPTIONS.c.id == exemption_id)).first()
    if row is None:
        raise NotFound(f"There is no exemption {exemption_id[:40]}", hint="See `fullwarp exempt list`.")
    return _exemption(row)


def _exemption(row: Row[Any]) -> KeptExemption:
    return KeptExemption(
        id=row.id,
        kind=row.kind,
        name=row.name,
        rule=row.rule,
        reason=row.reason,
        created_by=row.created_by,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        until=datetime.fromtimestamp(row.until, UTC),
        ended_by=row.ended_by,
        ended_at=None if row.ended_at is None else datetime.fromtimestamp(row.ended_at, UTC),
    )
