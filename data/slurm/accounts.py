"""Put the account tree together with what is known of its users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from data.model import Association


def with_users(tree: Iterable[Association], users: Iterable[Association]) -> tuple[Association, ...]:
    """The tree with admin levels and coordinators; one who coordinates without being a member gets a row."""
    users = tuple(users)
    levels = {row.user: row.admin_level for row in users if row.admin_level is not None}
    coordinators = {(row.user, row.account): row for row in users if row.is_coordinator}
    rows = tuple(
        replace(
            row,
            is_coordinator=row.is_coordinator or (row.user, row.account) in coordinators,
            admin_level=row.admin_level or levels.get(row.user),
        )
        if row.user is not None
        else row
        for row in tree
    )
    members = {(row.user, row.account) for row in rows}
    return rows + tuple(row for key, row in coordinators.items() if key not in members)
