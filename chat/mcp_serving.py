"""The two ways to the server of tools: standard input and output, and streamable HTTP behind tokens."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread
import orjson
from mcp.server.stdio import stdio_server

from chat.mcp_server import Context, make_server
from chat.model import Asker
from data.errors import FullwarpError
from data.model import Viewer

log = logging.getLogger(__name__)

PATH = "/mcp"
_KEY = "fullwarp_viewer"
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def serve_stdio(asker: Callable[[], Asker]) -> None:
    """Serve one client on standard input and output until it closes them."""
    server = make_server(lambda _: asker())

    async def run() -> None:
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    anyio.run(run)


class Refused(Exception):
    """Who asks may not: `status`, and why in words. `retry_seconds` = when to ask again."""

    def __init__(self, status: int, words: str, *, retry_seconds: int = 0) -> None:
        super().__init__(words)
        self.status, self.retry_seconds = status, retry_seconds


class Gate:
    """An ASGI app before which each request must say by its token who asks. `viewer_of` takes the Authorization header
    and raises Refused."""

    def __init__(self, app: App, viewer_of: Callable[[str], Viewer]) -> None:
        self._app, self._viewer_of = app, viewer_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = _authorization(scope)
            try:
                scope[_KEY] = await anyio.to_thread.run_sync(self._viewer_of, header)
            except Refused as err:
                await _refuse(send, err)
                return
            except FullwarpError as err:
                log.warning("tokens cannot be looked up: %s", err)
                await _refuse(send, Refused(503, "Tokens cannot be looked up now."))
                return
        await self._app(scope, receive, send)


def http_app(viewer_of: Callable[[str], Viewer], asker_of: Callable[[Viewer], Asker], host: str) -> App:
    """The app below PATH. Each request stands for itself, so that a revoked token is refused at the next one."""
    server = make_server(lambda context: asker_of(_viewer(context)))
    app: Any = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, host=host, max_request_body_size=256 * 1024
    )
    return Gate(app, viewer_of)


def serve_http(app: App, host: str, port: int) -> None:
    """Listen until the process is told to end."""
    import uvicorn

    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, server_header=False)


def _viewer(context: Context) -> Viewer:
    request: Any = context.request
    viewer: Viewer = request.scope[_KEY]
    return viewer


def _authorization(scope: Mapping[str, Any]) -> str:
    found = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
    return found[0].decode("latin-1") if len(found) == 1 else ""


async def _refuse(send: Send, err: Refused) -> None:
    code = {401: "unauthorized", 429: "too_many_requests"}.get(err.status, "source")
    body = orjson.dumps({"error": {"code": code, "message": str(err), "hint": _HINTS.get(err.status, "")}})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if err.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if err.retry_seconds:
        headers.append((b"retry-after", str(err.retry_seconds).encode()))
    await send({"type": "http.response.start", "status": err.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_HINTS = {
    401: "Send Authorization: Bearer with a token of `fullwarp token create`.",
    429: "Ask again later.",
    503: "Try again later.",
}
