"""/healthz for anybody (the process runs), /readyz for those with an identity (it can answer)."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, Response


def add_health_routes(server: Flask, prefix: str, is_ready: Callable[[], bool]) -> None:
    """Add both routes; their answers are one word, without names or addresses."""

    @server.get(f"{prefix}healthz")
    def _healthz() -> Response:
        return Response("ok", mimetype="text/plain")

    @server.get(f"{prefix}readyz")
    def _readyz() -> Response:
        ready = is_ready()
        return Response("ready" if ready else "starting", status=200 if ready else 503, mimetype="text/plain")
