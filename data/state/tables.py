"""The tables of the application store, as the newest migration leaves them. Times are UTC, in seconds since 1970."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Date, Index, Integer, MetaData, String, Table, Text

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

CONVERSATIONS = Table(
    "chat_conversations",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("user", String(128), nullable=False),
    Column("title", String(120), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("asked_at", BigInteger, nullable=False, index=True),
    Index("ix_chat_conversations_user", "user", "asked_at"),
)

# A turn has the user too: nothing of a person is reached through another's conversation.
TURNS = Table(
    "chat_turns",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("conversation", String(32), nullable=False, index=True),
    Column("user", String(128), nullable=False, index=True),
    Column("number", Integer, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("question", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("results", Text, nullable=False),
    Column("checked", Text, nullable=False),
    Column("failure", Text, nullable=False),
    Column("is_cut", Boolean, nullable=False),
    Column("thumb", Integer),
    Column("comment", String(1000)),
)

CHAT_USAGE = Table(
    "chat_usage",
    METADATA,
    Column("user", String(128), primary_key=True),
    Column("day", Date, primary_key=True, index=True),
    Column("questions", Integer, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("uncounted", Integer, nullable=False),
)
