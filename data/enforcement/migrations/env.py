"""Runs the migrations on the connection that the store gives."""

from __future__ import annotations

from alembic import context

from data.enforcement.tables import METADATA

given = context.config.attributes
context.configure(connection=given["connection"], target_metadata=METADATA, version_table=given["version_table"])
with context.begin_transaction():
    context.run_migrations()
