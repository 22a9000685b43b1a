"""A report without names: pseudonyms for users, and no names of jobs. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from data.queries.history.groups import Group
from data.queries.history.model import Report, ReportRow

Rename = Callable[[str], str]


def unnamed(found: Report, rename: Rename) -> Report:
    """The same numbers; users are renamed, and job names and applications are taken out."""
    rows = tuple(_row(found.query.by, row, rename) for row in found.rows)
    wanted = replace(
        found.query.filter, users=frozenset(map(rename, found.query.filter.users)), applications=frozenset()
    )
    return replace(found, rows=rows, query=replace(found.query, filter=wanted))


def _row(by: Group, row: ReportRow, rename: Rename) -> ReportRow:
    about: dict[str, Any] = dict(row.about)
    if about:
        user, account = about.get("user"), about.get("account")
        hidden = None if user is None else rename(str(user))
        about |= {"user": hidden, "name": None, "account": hidden if account == user else account}
    key, label = row.key, row.label
    if by is Group.USER and key is not None:
        key = label = rename(key)
    if by is Group.APPLICATION and key is not None:
        key = label = rename(key)
    return replace(row, key=key, label=label, about=about)
