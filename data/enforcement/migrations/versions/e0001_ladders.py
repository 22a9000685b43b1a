"""Episodes, since when rules act, the audit, mails under way, and whom was told what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "e0001"
down_revision = None

Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def attempt_columns() -> list[sa.Column[object]]:
    return [
        sa.Column("cluster", sa.String(128), nullable=False),
        sa.Column("job_id", sa.BigInteger, nullable=False),
        sa.Column("submit_time", sa.BigInteger),
        sa.Column("start_time", sa.BigInteger),
        sa.Column("restart_count", sa.Integer, nullable=False),
    ]


def upgrade() -> None:
    _ladders()
    _acts()
    op.create_table(
        "told",
        sa.Column("kind", sa.String(64), primary_key=True),
        sa.Column("subject", sa.String(256), primary_key=True),
        sa.Column("told_at", sa.BigInteger, nullable=False),
    )


def _ladders() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", Number, primary_key=True),
        *attempt_columns(),
        sa.Column("rule", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("low_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("is_open", sa.Boolean, nullable=False),
        sa.Column("is_held", sa.Boolean, nullable=False),
        sa.Column("low_seconds", sa.Float, nullable=False),
        sa.Column("frozen_since", sa.BigInteger),
        sa.Column("frozen_seconds", sa.Float, nullable=False),
        sa.Column("fresh_at", sa.BigInteger),
        sa.Column("ok_since", sa.BigInteger),
        sa.Column("taken", sa.Text, nullable=False),
    )
    op.create_index("ix_episodes_job", "episodes", ["cluster", "job_id"])
    op.create_table(
        "acting_since",
        sa.Column("cluster", sa.String(128), primary_key=True),
        sa.Column("rule", sa.String(40), primary_key=True),
        sa.Column("since", sa.BigInteger, nullable=False),
    )


def _acts() -> None:
    op.create_table(
        "mails",
        sa.Column("reference", sa.String(120), primary_key=True),
        sa.Column("user", sa.String(128), nullable=False),
        sa.Column("rule", sa.String(40), nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("planned_at", sa.BigInteger, nullable=False),
        sa.Column("message", sa.LargeBinary),
        sa.Column("accepted_at", sa.BigInteger),
    )
    op.create_table(
        "audit",
        sa.Column("id", Number, primary_key=True),
        sa.Column("intended_at", sa.BigInteger, nullable=False),
        *attempt_columns(),
        sa.Column("display_id", sa.String(64), nullable=False),
        sa.Column("user", sa.String(128), nullable=False),
        sa.Column("account", sa.String(128)),
        sa.Column("partition", sa.String(128), nullable=False),
        sa.Column("gpus", sa.Integer),
        sa.Column("rule", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("low_since", sa.BigInteger, nullable=False),
        sa.Column("cancel_id", sa.String(64)),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("mail", sa.String(120), sa.ForeignKey("mails.reference")),
        sa.Column("outcome", sa.String(16)),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("settled_at", sa.BigInteger),
    )
    op.create_index("ix_audit_intended_at", "audit", ["intended_at"])
    op.create_index("ix_audit_user", "audit", ["user"])
    op.create_index("ix_audit_job", "audit", ["cluster", "job_id"])


def downgrade() -> None:
    for table in ("told", "audit", "mails", "acting_since", "episodes"):
        op.drop_table(table)
