"""Names of people in the rows of the history: replaced by stable pseudonyms, or forgotten. Pure.

A pseudonym is a keyed digest: the same user has the same one everywhere, and without the key nobody can tell whose.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

PREFIX = "anon-"
FORGOTTEN = "forgotten"
_PSEUDONYM = re.compile(r"anon-[0-9a-f]{12}")
_PERSONAL = ("user", "reason_user")
_ALSO_NAMES = ("account",)

Rename = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A user, by pseudonym, whose rows from before `until` name nobody."""

    pseudonym: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    key: bytes

    def of(self, user: str) -> str:
        """The user's pseudonym; a pseudonym (and "forgotten") is its own."""
        if user == FORGOTTEN or _PSEUDONYM.fullmatch(user):
            return user
        return PREFIX + hmac.new(self.key, user.encode(), hashlib.sha256).hexdigest()[:12]

    def applied(self, table: pa.Table) -> pa.Table:
        """The rows with pseudonyms for users, and without names of jobs."""
        return renamed(table, self.of, lambda user: True)

    def without(self, table: pa.Table, pseudonyms: Container[str]) -> pa.Table:
        """The rows with those users forgotten: neither their names nor those of their jobs are left."""
        return renamed(table, lambda user: FORGOTTEN, lambda user: self.of(user) in pseudonyms)


def renamed(table: pa.Table, rename: Rename, concerns: Callable[[str], bool]) -> pa.Table:
    """Rename the users whom it concerns, in columns and lists; an account called like its user goes along."""
    if "user" in table.column_names:
        columns = {name: table.column(name) for name in table.column_names}
        for name, column in _renamed_columns(columns, rename, concerns).items():
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), column)
    for name in ("jobs", "nodes"):
        place = table.schema.get_field_index(name)
        if place >= 0 and pa.types.is_list(table.schema.field(place).type):
            column = table.column(place)
            if pa.types.is_struct(column.type.value_type):
                table = table.set_column(place, table.schema.field(place), _renamed_lists(column, rename, concerns))
    return table


def _renamed_columns(columns: dict[str, Any], rename: Rename, concerns: Callable[[str], bool]) -> dict[str, Any]:
    """New columns for user, account, path and name of the rows concerned."""
    users = columns["user"].to_pylist()
    new = [rename(user) if user is not None and concerns(user) else user for user in users]
    changed = [was != now for was, now in zip(users, new, strict=True)]
    found = {"user": new}
    for name in _ALSO_NAMES:
        if name in columns:
            values = columns[name].to_pylist()
            found[name] = [_also(value, users[row], new[row]) for row, value in enumerate(values)]
    if "account_path" in columns:
        paths = columns["account_path"].to_pylist()
        found["account_path"] = [
            None if path is None else [_also(value, users[row], new[row]) for value in path]
            for row, path in enumerate(paths)
        ]
    if "name" in columns:
        names = columns["name"].to_pylist()
        found["name"] = [None if changed[row] else value for row, value in enumerate(names)]
    return {name: pa.array(values, columns[name].type) for name, values in found.items()}


def _renamed_lists(column: pa.ChunkedArray, rename: Rename, concerns: Callable[[str], bool]) -> pa.Array:
    """A list of jobs or nodes with the users in its entries renamed; its form stays."""
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) and whole.num_chunks else whole
    rows = whole.to_pylist()
    for row in rows:
        for entry in row or ():
            _rename_entry(entry, rename, concerns)
    return pa.array(rows, column.type)


def _rename_entry(entry: dict[str, Any], rename: Rename, concerns: Callable[[str], bool]) -> None:
    for name in _PERSONAL:
        user = entry.get(name)
        if user is None or not concerns(user):
            continue
        new = rename(user)
        if name == "user" and new != user:
            entry["name"] = None
            entry["account"] = _also(entry.get("account"), user, new)
        entry[name] = new


def _also(value: str | None, user: str | None, new: str | None) -> str | None:
    return new if value is not None and value == user else value


def ends_before(table: pa.Table, time_column: str, moment: datetime) -> pa.ChunkedArray:
    """Which rows lie before a moment."""
    return pc.less(table.column(time_column), pa.scalar(moment, table.schema.field(time_column).type))
