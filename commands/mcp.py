"""The assistant's tools for other agents, over the Model Context Protocol."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from data.errors import BadRequest, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from data.model import Viewer
    from data.sources import Sources
    from settings import Settings


def register(commands: typer.Typer) -> None:
    commands.command("mcp")(mcp)


def mcp(
    context: typer.Context,
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Listen there, behind the API's tokens; empty = stdio.")
    ] = "",
) -> None:
    """Serve the assistant's tools to other agents (MCP): on stdin and stdout as you, or over HTTP as each token's user.

    Nothing is changed through it.
    """
    if find_spec("mcp") is None:
        raise SettingsError(
            "the package mcp is not installed", hint="Install it beside Fullwarp: pip install 'fullwarp[mcp]'."
        )
    if http:
        _serve_http(context, http)
    else:
        _serve_stdio(context)


def _serve_stdio(context: typer.Context) -> None:
    from chat.mcp_serving import serve_stdio
    from chat.model import Asker

    view = context.obj.view()
    serve_stdio(lambda: Asker(view.viewer, view.sources, view.sources.clock()))


def _serve_http(context: typer.Context, place: str) -> None:
    from chat.mcp_serving import PATH, http_app, serve_http
    from chat.model import Asker
    from data.sources import open_sources
    from terminal.session import load

    host, port = _place(place)
    settings = load(context.obj.config, is_demo=context.obj.is_demo).settings
    if not settings.state.is_set:
        raise SettingsError(
            "the tokens of the API decide who asks, and no store keeps any", hint="Set state.directory or state.url."
        )
    sources = open_sources(settings)
    app = http_app(
        _viewers(settings, sources), lambda viewer: Asker(viewer, sources, sources.clock()), host.strip("[]")
    )
    context.obj.screen.tell(f"MCP at http://{host}:{port}{PATH}")
    if not _is_loopback(host):
        context.obj.screen.tell("Tokens travel here as they are: put a web server with TLS in front.")
    serve_http(app, host.strip("[]"), port)


def _viewers(settings: Settings, sources: Sources) -> Callable[[str], Viewer]:
    """Whom an Authorization header names, and how often they may ask."""
    from api.rates import Rates
    from chat.mcp_serving import Refused
    from data.errors import SourceError
    from identity import Unidentified
    from terminal.bearers import TokenHolders, token_in

    holders = TokenHolders(settings, lambda: datetime.now(UTC))
    rates = Rates(settings.api.requests_per_minute, 1, settings.cache, name="mcp")

    def viewer_of(header: str) -> Viewer:
        try:
            associations = sources.associations()
        except SourceError:
            associations = ()
        try:
            viewer = holders.viewer_of(token_in(header), associations)
        except Unidentified as err:
            raise Refused(401, f"Nobody may ask here without a token: {err}.") from err
        seconds = rates.wait_seconds(viewer.user)
        if seconds:
            raise Refused(429, "That was often enough for this minute.", retry_seconds=seconds)
        return viewer

    return viewer_of


def _place(text: str) -> tuple[str, int]:
    """host:port; a port alone, with or without the colon, is on loopback."""
    host, _, port = text.strip().rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536) or "/" in host:
        raise BadRequest(f"--http {text[:60]!r} is no place to listen at", hint="Write it as 127.0.0.1:8060.")
    return host or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
