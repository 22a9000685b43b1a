"""Which form of a rule acts since when: a rule that is changed begins anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "e0002"
down_revision = "e0001"


def upgrade() -> None:
    op.add_column("acting_since", sa.Column("form", sa.String(64)))


def downgrade() -> None:
    op.drop_column("acting_since", "form")
