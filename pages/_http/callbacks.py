"""What a callback is asked must fit it: Dash fails at anything else, as if the fault were ours.

Two askers meet this: a tab that was loaded before an upgrade, whose callback is gone or takes other parts now; and who
writes requests by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, Response, request

from pages._http.refusals import Refusal, refused

ADDRESS = "_dash-update-component"
_LOCATION = "_pages_location"
_ODD = Refusal(400, "odd_callback", "Not understood", "That is no question of a page.", "Load the page again.")
_UNKNOWN = Refusal(
    404, "unknown_callback", "Not of this version", "The page is of another version of Fullwarp.", "Load it again."
)
Registered = Mapping[str, Mapping[str, Any]]


def refuse_odd_callbacks(server: Flask, prefix: str, registered: Callable[[], Registered]) -> None:
    """Register after Dash, which knows its callbacks at its first request. `registered` gives them by their output."""

    @server.before_request
    def _odd() -> Response | None:
        if request.path != prefix + ADDRESS or request.method != "POST":
            return None
        body = _body()
        if not isinstance(body, dict) or not isinstance(body.get("output"), str):
            return refused(_ODD)
        known = registered().get(body["output"])
        if known is None:
            return refused(_UNKNOWN)
        return None if _fits(body, known) and _is_below(body.get("inputs", []), prefix) else refused(_ODD)


def _body() -> object:
    """The JSON of the request; None for what is none, or is nested too deep to be read."""
    try:
        return request.get_json(silent=True)
    except RecursionError:
        return None


def _fits(body: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether the parts are there, those that the callback takes and in their order."""
    changed = body.get("changedPropIds", [])
    return (
        isinstance(changed, list)
        and all(isinstance(one, str) for one in changed)
        and _are_outputs(body.get("outputs"), body["output"])
        and all(_are_parts(body.get(name, []), known[name]) for name in ("inputs", "state"))
    )


def _are_outputs(found: object, output: str) -> bool:
    """One part, or a list of as many as the name `..a.x...b.y..` has; a callback without output sends none."""
    if not output.startswith(".."):
        return found is None or _is_written(found)
    return isinstance(found, list) and len(found) == output.count("...") + 1 and all(map(_is_written, found))


def _are_parts(found: object, known: list[Mapping[str, Any]]) -> bool:
    return isinstance(found, list) and len(found) == len(known) and all(map(_is_part, found, known))


def _is_part(one: object, known: Mapping[str, Any]) -> bool:
    """A part by its name; a name that is a pattern stands for any, or for a list of them."""
    if str(known["id"]).startswith("{"):
        return _is_written(one)
    return isinstance(one, dict) and (one.get("id"), one.get("property")) == (known["id"], known["property"])


def _is_written(one: object) -> bool:
    if isinstance(one, list):
        return all(isinstance(inner, dict) and _is_written(inner) for inner in one)
    return isinstance(one, dict) and isinstance(one.get("id"), str | dict) and isinstance(one.get("property"), str)


def _is_below(inputs: list[Any], prefix: str) -> bool:
    """Whether Dash's own address of the page is one below the prefix."""
    given = {one["property"]: one.get("value") for one in inputs if isinstance(one, dict) and one["id"] == _LOCATION}
    path, search = given.get("pathname", prefix), given.get("search")
    is_path = isinstance(path, str) and f"{path}/".startswith(prefix)
    return is_path and (search is None or isinstance(search, str))
