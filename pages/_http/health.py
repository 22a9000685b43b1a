"""/healthz for anybody (the process runs); /readyz (it has looked at the cluster) and the server's own metrics for
those who watch it: listed addresses and tokens with the role scrape."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, Request, Response, request

from data.errors import SourceError
from pages._http.gate import HEALTH, unauthorized

METRICS = "api/v1/self/metrics"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def add_health_routes(
    server: Flask,
    prefix: str,
    may_watch: Callable[[Request], bool],
    is_ready: Callable[[], bool],
    metrics: Callable[[], bytes],
) -> None:
    """Add the routes; those about health answer one word, without names or addresses."""

    for path in {HEALTH, f"{prefix}healthz"}:
        server.add_url_rule(path, f"healthz at {path}", lambda: Response("ok", mimetype="text/plain"))

    @server.get(f"{prefix}readyz")
    def _readyz() -> Response:
        try:
            if not may_watch(request):
                return unauthorized(is_api=True)
        except SourceError:
            return Response("tokens cannot be looked up now", status=503, mimetype="text/plain")
        ready = is_ready()
        return Response("ready" if ready else "starting", status=200 if ready else 503, mimetype="text/plain")

    @server.get(f"{prefix}{METRICS}")
    def _metrics() -> Response:
        if not may_watch(request):
            return unauthorized(is_api=True)
        return Response(metrics(), content_type=METRICS_TYPE)
