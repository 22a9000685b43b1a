"""The search field: where a text leads, and what it may mean. Only what the viewer may see is suggested."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import dash
import orjson
from flask import Flask, Response, request

from data.errors import FullwarpError
from data.model import Viewer
from data.queries.jobs import Found, find
from data.sources import Sources
from pages._request import backing, viewer

MAX_TEXT = 100
MOST = 8
JOB_ID = re.compile(r"[1-9]\d{0,17}(?:[_+]\d{1,9})?", re.ASCII)
_PLACES = {"job": "jobs/{}", "node": "nodes/{}", "user": "users/{}", "account": "efficiency?account={}"}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One line: what kind of thing, its name, a word about it, and its address below the prefix."""

    kind: str
    name: str
    text: str
    href: str


def suggestions(viewer: Viewer, sources: Sources, text: str, pages: Mapping[str, str]) -> list[Suggestion]:
    """At most 8 lines, the best first; `pages` are names by address.

    A job id leads to its page whether the job exists, is over or may not be seen: the answer is the same.
    """
    wanted = text.strip()[:MAX_TEXT]
    if not wanted:
        return [Suggestion("page", name, "", path) for path, name in pages.items()][:MOST]
    lines = [_line(hit) for hit in _found(viewer, sources, wanted)]
    id_given = wanted.removeprefix("#").removeprefix("job ").strip()
    if JOB_ID.fullmatch(id_given) and not any(line.href == f"jobs/{quote(id_given)}" for line in lines):
        lines.insert(0, Suggestion("job", id_given, "open this job", f"jobs/{quote(id_given)}"))
    lines += _pages(wanted.lower(), pages)
    return lines[:MOST]


def _found(viewer: Viewer, sources: Sources, wanted: str) -> Iterable[Found]:
    """While no picture can be had, nothing is found in it."""
    try:
        return find(viewer, sources, wanted, MOST - 1)
    except FullwarpError:
        return ()


def _line(hit: Found) -> Suggestion:
    text = hit.text.lower() if hit.kind == "node" else hit.text
    return Suggestion(hit.kind, hit.name, text, _PLACES[hit.kind].format(quote(hit.name, safe="")))


def _pages(wanted: str, pages: Mapping[str, str]) -> list[Suggestion]:
    fitting = [(path, name) for path, name in pages.items() if name.lower().startswith(wanted)]
    return [Suggestion("page", name, "", path) for path, name in fitting]


def add_search(server: Flask, prefix: str) -> None:
    """Add the route of the search field: lines as JSON for `?q=`."""

    @server.get(f"{prefix}_search")
    def _search() -> Response:
        lines = suggestions(viewer(), backing().sources, request.args.get("q", ""), _known_pages(prefix))
        rows = [{**_row(line), "href": prefix + line.href} for line in lines]
        return Response(orjson.dumps(rows), mimetype="application/json")


def _row(line: Suggestion) -> dict[str, str]:
    return {"kind": line.kind, "name": line.name, "text": line.text}


def _known_pages(prefix: str) -> dict[str, str]:
    shown = (page for page in dash.page_registry.values() if page.get("icon"))
    return {str(page["relative_path"]).removeprefix(prefix): str(page["name"]) for page in shown}
