"""Conversations with the assistant, and how much each person used it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    _conversations()
    _turns()
    _usage()


def _conversations() -> None:
    op.create_table(
        "chat_conversations",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("user", sa.String(128), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_chat_conversations_user", "chat_conversations", ["user", "asked_at"])
    op.create_index("ix_chat_conversations_asked_at", "chat_conversations", ["asked_at"])


def _turns() -> None:
    op.create_table(
        "chat_turns",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("conversation", sa.String(32), nullable=False),
        sa.Column("user", sa.String(128), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("results", sa.Text, nullable=False),
        sa.Column("checked", sa.Text, nullable=False),
        sa.Column("failure", sa.Text, nullable=False),
        sa.Column("is_cut", sa.Boolean, nullable=False),
        sa.Column("thumb", sa.Integer),
        sa.Column("comment", sa.String(1000)),
    )
    op.create_index("ix_chat_turns_conversation", "chat_turns", ["conversation"])
    op.create_index("ix_chat_turns_user", "chat_turns", ["user"])


def _usage() -> None:
    op.create_table(
        "chat_usage",
        sa.Column("user", sa.String(128), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("questions", sa.Integer, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.Column("uncounted", sa.Integer, nullable=False),
    )
    op.create_index("ix_chat_usage_day", "chat_usage", ["day"])


def downgrade() -> None:
    for table in ("chat_usage", "chat_turns", "chat_conversations"):
        op.drop_table(table)
