"""Accounts with their parents, from Slurm's account tree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from data.model import Association

ROOT = "root"


def account_paths(associations: Iterable[Association]) -> Mapping[str, tuple[str, ...]]:
    """Each account's path from the top down, without root: {"lab": ("faculty", "institute", "lab")}.

    A parent that the tree does not hold ends the path; so does a circle.
    """
    parents = {row.account: row.parent for row in associations if row.user is None}
    return {account: _path(account, parents) for account in parents if account != ROOT}


def _path(account: str, parents: Mapping[str, str | None]) -> tuple[str, ...]:
    path: list[str] = []
    name: str | None = account
    while name and name != ROOT and name not in path:
        path.append(name)
        name = parents.get(name)
    return tuple(reversed(path))
