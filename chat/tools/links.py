"""Addresses of the pages that show what a tool answers: path and query, below the prefix."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

Words = Mapping[str, str | tuple[str, ...]]


def page(path: str, words: Words | None = None) -> str:
    """A path with the words of its query that are set."""
    said = {name: value for name, value in (words or {}).items() if value}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


def of_job(job_id: str, at: str = "") -> str:
    return page(f"/jobs/{quote(job_id, safe='')}", {"at": at})


def of_node(name: str, at: str = "") -> str:
    return page(f"/nodes/{quote(name, safe='')}", {"at": at})


def of_user(name: str, since: str = "") -> str:
    return page(f"/users/{quote(name, safe='')}", {"since": since})
