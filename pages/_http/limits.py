"""How much and how often: the size of a request, and the pages and refreshes of one user in a minute."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, Response, g, request

from data.model import Viewer
from pages._http.refusals import Refusal, refused

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def limit_bodies(server: Flask, most_bytes: int) -> None:
    """Refuse a body that is too large before a byte of it is read, and one that does not say how large it is."""
    server.config["MAX_CONTENT_LENGTH"] = most_bytes
    server.config["MAX_FORM_MEMORY_SIZE"] = most_bytes

    @server.before_request
    def _size() -> Response | None:
        if request.content_length is None:
            is_unsaid = "chunked" in request.headers.get("Transfer-Encoding", "").lower()
            return refused(_UNSAID, {"Connection": "close"}) if is_unsaid else None
        if request.content_length <= most_bytes:
            return None
        said = f"The request has {request.content_length:,} bytes, and at most {most_bytes:,} are taken."
        hint = "Send less, or ask the cluster staff to raise exposure.max_body_bytes."
        return refused(Refusal(413, "too_large", "Too large", said, hint), {"Connection": "close"})


_UNSAID = Refusal(
    411, "length_required", "Length unknown", "The request does not say how long it is.", "Send a Content-Length."
)


def limit_rates(server: Flask, prefix: str, wait_seconds: Callable[[str], int]) -> None:
    """Let each user ask so often, counted apart from the API, which counts for itself (but not its chat); register
    after the gate. `wait_seconds` gives 0 or how long to wait."""

    @server.before_request
    def _rate() -> Response | None:
        viewer = g.get("fullwarp_viewer")
        if not isinstance(viewer, Viewer) or not viewer.user or _counts_for_itself(request.path.removeprefix(prefix)):
            return None
        wait = wait_seconds(viewer.user)
        if not wait:
            return None
        message = "You asked for more pages in a minute than one person needs."
        why = Refusal(429, "too_many_requests", "Too many requests", message, f"Try again in {wait} s.")
        return refused(why, {"Retry-After": str(wait)})


def _counts_for_itself(path: str) -> bool:
    """`path` is what stands behind the prefix."""
    return path.startswith("api/") and not path.startswith("api/chat/")
