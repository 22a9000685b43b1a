"""The tables of the application store, as the newest migration leaves them. Times are UTC, in seconds since 1970."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Date, MetaData, String, Table

METADATA = MetaData()

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("secret_sha256", String(64), nullable=False),
    Column("user", String(128), nullable=False, index=True),
    Column("role", String(16), nullable=False),
    Column("note", String(200), nullable=False),
    Column("created_by", String(128), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("last_used_day", Date),
)

EXEMPTIONS = Table(
    "exemptions",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("name", String(200), nullable=False),
    Column("rule", String(40), nullable=False),
    Column("reason", String(300), nullable=False),
    Column("created_by", String(128), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False, index=True),
    Column("ended_by", String(128)),
    Column("ended_at", BigInteger),
)
