"""Security headers of every answer."""

from __future__ import annotations

from dash import Dash
from flask import Flask, Response

_POLICY = (
    "default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
    "frame-ancestors 'self'; form-action 'self'"
)


def content_security_policy(app: Dash) -> str:
    """The policy, with the hashes of the inline scripts that Dash itself writes."""
    return _POLICY.format(hashes=" ".join(sorted(set(app.csp_hashes()))))


def add_headers(app: Dash) -> None:
    """Set the headers on every answer; pages and data are never stored by caches in between."""

    server: Flask = app.server

    @server.after_request
    def _headers(response: Response) -> Response:
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")
        if response.mimetype == "text/html":
            response.headers["Content-Security-Policy"] = content_security_policy(app)
        return response
