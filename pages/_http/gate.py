"""Nobody passes without identity: pages, layouts and callbacks alike."""

from __future__ import annotations

import logging
from collections.abc import Callable

from flask import Flask, Request, Response, g, jsonify, request
from flask.typing import ResponseReturnValue

from data import tracing
from data.model import Role, Viewer
from pages._http.messages import message_page

ViewerOf = Callable[[Request], Viewer | None]

OPEN_FOLDERS = ("assets/", "_dash-component-suites/", "_bundle/")
HEALTH = "/healthz"  # at the root, too: what looks after a container does not know the prefix
OPEN_PATHS = ("healthz", "_favicon.ico")
OWN_DOOR = ("readyz", "api/v1/self/metrics")  # they ask for themselves who may pass
WARM_UP_KEY = "fullwarp.warm_up"
WARM_UP_TOKEN = object()
WARM_UP_VIEWER = Viewer(user="", role=Role.USER)

log = logging.getLogger(__name__)


def is_open(path: str, prefix: str) -> bool:
    """Whether a path needs no viewer: assets, bundles, the health word, and what is for those who watch the server."""
    inner = path.removeprefix(prefix)
    return path == HEALTH or inner in OPEN_PATHS + OWN_DOOR or inner.startswith(OPEN_FOLDERS)


def close_gate(server: Flask, prefix: str, viewer_of: ViewerOf) -> None:
    """Put the viewer of each request into `flask.g`, and answer 401 where there is none."""

    @server.before_request
    def _require_viewer() -> ResponseReturnValue | None:
        if is_open(request.path, prefix):
            return None
        viewer = _viewer(viewer_of)
        if viewer is None:
            return unauthorized(is_api=f"{request.path}/".startswith(f"{prefix}api/"))
        g.fullwarp_viewer = viewer
        tracing.asked_by(viewer.user)
        return None


def _viewer(viewer_of: ViewerOf) -> Viewer | None:
    """The viewer; a warm-up is known by an object that no header can carry."""
    if request.environ.get(WARM_UP_KEY) is WARM_UP_TOKEN:
        return WARM_UP_VIEWER
    return viewer_of(request)


def unauthorized(*, is_api: bool = False) -> Response:
    """401 as a page for people and as JSON for scripts."""
    if not is_api and request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html":
        page = message_page(
            "Not signed in",
            "Fullwarp was not told who you are. It takes your name from the web server in front of it.",
            "Open it through your cluster's portal, or ask the cluster staff.",
        )
        return Response(page, status=401, mimetype="text/html")
    token = "Send a valid token (Authorization: Bearer ...), or ask through the portal."
    hint = token if is_api else "Sign in through the portal."
    error = {"code": "unauthorized", "message": "No identity.", "hint": hint}
    response = jsonify({"error": error})
    response.status_code = 401
    if is_api:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
