"""Security headers of every answer."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable
from hashlib import sha256

from dash import Dash
from flask import Flask, Response

_POLICY = (
    "default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
    "frame-ancestors {frames}; form-action 'self'"
)
_FEATURES = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


def content_security_policy(app: Dash, scripts: Iterable[str] = (), frames: Iterable[str] = ()) -> str:
    """The policy, with the hashes of the inline scripts that Dash itself writes and of `scripts`; `frames` are the
    other origins that may show our pages in a frame."""
    own = (b64encode(sha256(text.encode()).digest()).decode() for text in scripts)
    hashes = " ".join(sorted({*app.csp_hashes(), *(f"'sha256-{one}'" for one in own)}))
    return _POLICY.format(hashes=hashes, frames=" ".join(("'self'", *frames)))


def add_headers(app: Dash, scripts: Iterable[str] = (), frames: Collection[str] = ()) -> None:
    """Set the headers on every answer; pages and data are never stored by caches in between. `scripts` are the inline
    ones of the index page, `frames` as in `content_security_policy`."""

    server: Flask = app.server

    @server.after_request
    def _headers(response: Response) -> Response:
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers["Permissions-Policy"] = _FEATURES
        if not frames:
            response.headers["X-Frame-Options"] = "SAMEORIGIN"  # knows no list of origins
        response.headers.setdefault("Cache-Control", "no-store")
        if response.mimetype == "text/html":
            response.headers["Content-Security-Policy"] = content_security_policy(app, scripts, frames)
        return response
