"""Read slurmdbd's account tree and its users from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.model import Association, Rows
from data.slurm.accounts import of_cluster
from data.slurm.answers import listed
from data.slurm.broken_rows import joined, read_rows
from data.slurm.records_json_fields import label, member, named
from data.slurm.scalars import text
from data.slurm.tres import objects


def associations(payload: object, cluster: str) -> Rows[Association]:
    """Accounts (`user` None, with `parent`) and users of this cluster from a /slurmdb/vX/associations answer.

    Admin level and coordinators are not here but in `users`: see `accounts.with_users`.
    """
    read = read_rows(listed(payload, "associations"), lambda record: _association(record, cluster), label)
    return of_cluster(read, cluster)


def users(payload: object, cluster: str) -> Rows[Association]:
    """What a /slurmdb/vX/users answer adds: one row per user with the admin level, and one per account coordinated."""
    read = read_rows(listed(payload, "users"), lambda record: _user(record, cluster), label)
    return joined([Rows(tuple(row for rows in read.rows for row in rows), read.broken, read.broken_examples)])


def _association(record: Mapping[str, Any], cluster: str) -> Association:
    account = text(record.get("account"))
    if account is None:
        raise LookupError("account")
    own = text(record.get("cluster")) or cluster
    return Association(own, account, text(record.get("parent_account")), text(record.get("user")))


def _user(record: Mapping[str, Any], cluster: str) -> tuple[Association, ...]:
    name = named(record)
    level = record.get("administrator_level")
    level = text(level[0] if isinstance(level, list) and level else level if isinstance(level, str) else None)
    level = None if level in ("None", "Not Set") else level
    account = text(member(record, "default", "account")) or ""
    coordinated = [text(item.get("name")) for item in objects(record.get("coordinators"))]
    return (
        Association(cluster, account, None, name, admin_level=level),
        *(Association(cluster, of, None, name, True, level) for of in coordinated if of is not None),
    )
