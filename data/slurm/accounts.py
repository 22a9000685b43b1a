"""Put the account tree together with what is known of its users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from data.model import Association, Rows


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


def of_cluster(rows: Rows[Association], cluster: str) -> Rows[Association]:
    """Only the rows of this cluster (slurmdbd answers for all); all, with a warning, when it calls none so."""
    own = tuple(row for row in rows.rows if row.cluster.lower() == cluster.lower())
    if own or not rows.rows:
        return replace(rows, rows=own)
    names = ", ".join(sorted({row.cluster for row in rows.rows})[:5])
    warning = f"slurmdbd has no accounts of a cluster {cluster!r}, only of {names}: all are used"
    return replace(rows, warnings=(*rows.warnings, warning))
