"""Fields that several JSON records share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from data.errors import SourceGarbled
from data.slurm.scalars import MEBIBYTE, count, text


def user_name(record: Mapping[str, Any]) -> str | None:
    """The user of a slurmctld job (`user_name`) or a slurmdbd job (`user`)."""
    return text(record.get("user_name")) or text(record.get("user"))


def member(record: object, *path: str) -> Any:
    """The value under a path of keys; None as soon as one is missing."""
    found: Any = record
    for key in path:
        if not isinstance(found, dict):
            return None
        found = found.get(key)
    return found


def mebibytes(value: object) -> int | None:
    """Bytes from Slurm's MiB."""
    found = count(value)
    return None if found is None else found * MEBIBYTE


def named(record: Mapping[str, Any]) -> str:
    """The name of a node, partition or reservation; SourceGarbled without one."""
    name = record.get("name")
    if not isinstance(name, str) or not name:
        raise SourceGarbled("it has no name")
    return name


def label(record: object) -> object:
    """What to call a row that cannot be read."""
    found = member(record, "job_id") or member(record, "name") or member(record, "account")
    return found if found is not None else f"a row without an id ({str(record)[:40]!r})"
