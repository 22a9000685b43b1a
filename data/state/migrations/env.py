"""Runs the migrations on the connection that the store gives."""

from __future__ import annotations

from alembic import context

from data.state.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
