"""Each request has an id, a line in the log, and is counted: whatever answers it, and whatever goes wrong."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from flask import Flask, Request, Response, g, request

from data import tracing
from pages._http.gate import OPEN_FOLDERS, WARM_UP_KEY, WARM_UP_TOKEN

ID = re.compile(r"[A-Za-z0-9_.:-]{8,128}", re.ASCII)
STREAM = "text/event-stream"
_CLASSES: Mapping[str, str] = {
    "_dash-update-component": "callback",
    "_dash-layout": "page",
    "_dash-dependencies": "page",
    "healthz": "health",
    "readyz": "health",
}
log = logging.getLogger("fullwarp.requests")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answered request. `route` is a class of addresses, never an address."""

    route: str
    status: int
    seconds: float


class Watcher(Protocol):
    """Who counts."""

    def answered(self, one: Answered) -> None: ...

    def stream(self, change: int) -> None:
        """A stream began (1) or ended (-1)."""


def watch_requests(
    server: Flask, prefix: str, id_header: str, is_believed: Callable[[Request], bool], watcher: Watcher
) -> None:
    """Register before anything else, so that nothing answers unseen. `is_believed` says whether the sender may name
    the id."""

    @server.before_request
    def _begin() -> None:
        if request.environ.get(WARM_UP_KEY) is WARM_UP_TOKEN:
            return
        sent = request.headers.get(id_header, "")
        taken = sent if ID.fullmatch(sent) and is_believed(request) else secrets.token_hex(8)
        g.fullwarp_begun, g.fullwarp_trace = time.monotonic(), tracing.begin(taken)

    @server.after_request
    def _end(response: Response) -> Response:
        begun, now = g.get("fullwarp_begun"), tracing.trace()
        if begun is None or now is None:
            return response
        response.headers[id_header] = now.request_id
        inner = request.path.removeprefix(prefix if request.path.startswith(prefix) else "/")
        one = Answered(route_class(inner), response.status_code, time.monotonic() - begun)
        watcher.answered(one)
        if response.mimetype == STREAM:
            watcher.stream(1)
            response.call_on_close(lambda: watcher.stream(-1))
        _write(one)
        return response

    @server.teardown_request
    def _forget(_: BaseException | None) -> None:
        if (token := g.pop("fullwarp_trace", None)) is not None:
            tracing.end(token)


def route_class(inner: str) -> str:
    """The class of an address below the prefix; few, whatever is asked for."""
    if inner.startswith(OPEN_FOLDERS) or inner == "_favicon.ico":
        return "file"
    first, _, rest = inner.partition("/")
    if first == "api":
        return "health" if rest.startswith("v1/self/") else "api"
    return _CLASSES.get(first) or ("data" if first.startswith("_") else "page")


def _write(one: Answered) -> None:
    """The path without its query, which may name people."""
    fields = {
        "method": request.method,
        "path": request.path[:300],
        "route": one.route,
        "status": one.status,
        "milliseconds": round(one.seconds * 1000, 1),
        "peer": str(request.environ.get("REMOTE_ADDR") or "unix"),
    }
    log.log(logging.DEBUG if one.route in ("file", "health") else logging.INFO, "request", extra={"fields": fields})
