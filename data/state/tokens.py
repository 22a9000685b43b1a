"""Tokens of the HTTP API: whose, how much they may, until when. Only a hash of the secret is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, insert, select, update

from data.errors import NotFound, SourceUnreachable
from data.state.store import StateStore
from data.state.tables import TOKENS

PREFIX = "fullwarp_"
_ID_BYTES, _SECRET_BYTES = 6, 32
_SENT = re.compile(PREFIX + r"([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NO_SECRET = hashlib.sha256(b"").hexdigest()


class TokenRole(StrEnum):
    """user and staff are ceilings: a token never gives more than its user has. scrape reads the server's own metrics
    and whether it is ready, and nothing of the cluster."""

    USER = "user"
    STAFF = "staff"
    SCRAPE = "scrape"


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token besides its secret."""

    id: str
    user: str
    role: TokenRole
    note: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    last_used_day: date | None = None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and now < self.expires_at


def create_token(
    store: StateStore, user: str, role: TokenRole, now: datetime, expires_at: datetime, *, note: str = "", by: str = ""
) -> tuple[Token, str]:
    """Make a token; the second value is what its holder sends, and is kept nowhere."""
    made = Token(secrets.token_hex(_ID_BYTES), user, role, note, by, now, expires_at)
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    values = {
        "id": made.id,
        "secret_sha256": _hash(secret),
        "user": user,
        "role": role.value,
        "note": note,
        "created_by": by,
        "created_at": int(now.timestamp()),
        "expires_at": int(expires_at.timestamp()),
    }
    with store.connection() as connection:
        connection.execute(insert(TOKENS).values(values))
    return made, f"{PREFIX}{made.id}_{secret}"


def list_tokens(store: StateStore, users: Sequence[str] = ()) -> tuple[Token, ...]:
    """All tokens (of these users), the newest first, ended and revoked ones too."""
    query = select(TOKENS).order_by(TOKENS.c.created_at.desc(), TOKENS.c.id)
    if users:
        query = query.where(TOKENS.c.user.in_(users))
    with store.connection() as connection:
        return tuple(_token(row) for row in connection.execute(query))


def revoke_token(store: StateStore, token_id: str, now: datetime) -> Token:
    """End a token now. Raises NotFound for an id that no token has; one that has ended stays as it is."""
    with store.connection() as connection:
        connection.execute(
            update(TOKENS)
            .where(TOKENS.c.id == token_id, TOKENS.c.revoked_at.is_(None))
            .values(revoked_at=int(now.timestamp()))
        )
        row = connection.execute(select(TOKENS).where(TOKENS.c.id == token_id)).first()
    if row is None:
        raise NotFound(f"There is no token {token_id[:40]}", hint="See `fullwarp token list`.")
    return _token(row)


def is_token(sent: str) -> bool:
    """Whether this has the form of a token: nothing else is looked for in the store."""
    return _SENT.fullmatch(sent) is not None


def find_token(store: StateStore, sent: str, now: datetime) -> Token | None:
    """The valid token that was sent, None for any other text. Notes the day of its use."""
    parts = _SENT.fullmatch(sent)
    if parts is None:
        return None
    with store.connection() as connection:
        row = connection.execute(select(TOKENS).where(TOKENS.c.id == parts[1])).first()
    is_right = hmac.compare_digest(_hash(parts[2]), _NO_SECRET if row is None else row.secret_sha256)
    if row is None or not is_right or not (found := _token(row)).is_valid(now):
        return None
    if found.last_used_day != now.date():
        _note_use(store, found.id, now.date())
    return found


def _note_use(store: StateStore, token_id: str, day: date) -> None:
    """Once a day. A store that cannot be written now does not turn a right token away."""
    with suppress(SourceUnreachable), store.connection() as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.id == token_id).values(last_used_day=day))


def _hash(secret: str) -> str:
    """The secret has 256 random bits: a slow hash would protect nothing more."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: Row[Any]) -> Token:
    return Token(
        id=row.id,
        user=row.user,
        role=TokenRole(row.role),
        note=row.note,
        created_by=row.created_by,
        created_at=datetime.fromtimestamp(row.created_at, UTC),
        expires_at=datetime.fromtimestamp(row.expires_at, UTC),
        revoked_at=None if row.revoked_at is None else datetime.fromtimestamp(row.revoked_at, UTC),
        last_used_day=row.last_used_day,
    )
