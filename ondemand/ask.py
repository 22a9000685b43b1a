"""The assistant of the server, for the browser of this user: a few routes, passed on with the token of the process.

Nothing else of a request goes on: no cookie, no header. Links in what comes back lead to places that the user can open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Request

from data.errors import BadRequest, CannotKnow, FullwarpError, NotFound
from ondemand.answers import Answers
from terminal.remote import Passed

MOST_BYTES = 1 << 20  # a question and what was said before; the server knows the limit of each
MOST_ASKED = 2000
# The method of each route, and what may stand in its address.
ROUTES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ask": ("POST", ()),
    "events": ("GET", ("turn", "seen")),
    "stop": ("POST", ()),
    "panel": ("GET", ("path",)),
    "conversations": ("GET", ()),
    "conversation": ("GET", ("id",)),
    "forget": ("POST", ()),
    "judge": ("POST", ()),
}
_ONE_JOB = re.compile(r"jobs/[^/?#]+")
_OF_TEXT = ("children", "className", "title")
_OUTSIDE = re.compile("https?://")


@dataclass(frozen=True, slots=True)
class Places:
    """Where links lead: `server` is the path of the server's pages, `base` this app's, both with slashes; `pages` is
    the whole address of the server's pages, or "" where users cannot open them."""

    server: str
    base: str
    pages: str = ""


def passed_on(answers: Answers, name: str, asked: Request, places: Places) -> Passed:
    """The server's answer, or why there is none, in the same form."""
    method, names = ROUTES[name]
    try:
        given = _given(asked) if method == "POST" else None
        found = answers.pass_on(method, name, {one: _word(asked, one) for one in names if one in asked.args}, given)
    except FullwarpError as err:
        return Passed(_status(err), {"error": {"code": err.code, "message": str(err), "hint": err.hint}})
    return Passed(found.status, at_home(found.body, places))


def is_from_here(asked: Request) -> bool:
    """Whether our own script sent it: no page of another site can send this header, or say that it is ours."""
    site = asked.headers.get("Sec-Fetch-Site", "same-origin")
    return asked.headers.get("X-Requested-With") == "fullwarp" and asked.is_json and site == "same-origin"


def _given(asked: Request) -> bytes:
    """The body, written anew, so that the server reads what was checked here."""
    try:
        found = orjson.loads(asked.get_data(cache=False))
    except orjson.JSONDecodeError as err:
        raise BadRequest("the body is no JSON", hint="Send a JSON object.") from err
    if not isinstance(found, dict):
        raise BadRequest("the body is no JSON object", hint="Send a JSON object.")
    return orjson.dumps(found)


def _word(asked: Request, name: str) -> str:
    found = asked.args[name]
    if len(found) > MOST_ASKED:
        raise BadRequest(f"{name} has {len(found):,} characters, and at most {MOST_ASKED:,} are taken")
    return found


def _status(err: FullwarpError) -> int:
    return 404 if isinstance(err, NotFound | CannotKnow) else 400 if isinstance(err, BadRequest) else 503


def at_home(part: Any, places: Places) -> Any:
    """The same components, with links as they lead from here."""
    if isinstance(part, list):
        return [at_home(one, places) for one in part]
    if not isinstance(part, Mapping):
        return part
    made = {name: at_home(one, places) for name, one in part.items()}
    props = made.get("props")
    return _linked(made, props, places) if isinstance(props, dict) and "href" in props else made


def _linked(made: dict[str, Any], props: dict[str, Any], places: Places) -> dict[str, Any]:
    """A link that leads nowhere from here is text."""
    href = str(props["href"])
    outside = {"target": "_blank", "rel": "noopener noreferrer"}
    inside = href.removeprefix(places.server) if href.startswith(places.server) else None
    if inside is None and _OUTSIDE.match(href):
        return {**made, "props": {**props, **outside}}
    if inside is not None and _ONE_JOB.fullmatch(inside):
        return {**made, "props": {**props, "href": places.base + inside}}
    if inside is not None and places.pages:
        return {**made, "props": {**props, **outside, "href": f"{places.pages}/{inside}"}}
    return {**made, "type": "Span", "props": {name: props[name] for name in _OF_TEXT if name in props}}
