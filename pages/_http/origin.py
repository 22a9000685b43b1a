"""A page of another site cannot change anything here, though the browser that shows it is signed in.

Browsers say where a request comes from (Sec-Fetch-Site, else Origin), and a page cannot make them say otherwise. A
request that says neither comes from no browser. What a token names cannot come from a foreign page either.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from flask import Flask, Request, Response, request

from pages._http.limits import CHANGING
from pages._http.refusals import Refusal, refused

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_WHY = Refusal(
    403,
    "cross_site",
    "Not from here",
    "The request comes from a page of another site.",
    "Open Fullwarp itself. Staff: pass the Host on in the proxy, or set exposure.origins.",
)
log = logging.getLogger(__name__)


def require_own_origin(server: Flask, origins: Collection[str], is_by_token: Callable[[Request], bool]) -> None:
    """Refuse what would change something and comes from another site's page."""

    @server.before_request
    def _origin() -> Response | None:
        if request.method not in CHANGING or is_own(request, origins) or is_by_token(request):
            return None
        log.warning("403 %s: comes from %s", request.path, request.headers.get("Origin", "another site")[:200])
        return refused(_WHY)


def is_own(asked: Request, origins: Collection[str]) -> bool:
    """Whether a request comes from one of our own pages, or from no browser."""
    origin = asked.headers.get("Origin", "")
    if origin and origin.lower() in origins:
        return True
    site = asked.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in ("same-origin", "none")
    if not origin:
        return True
    # A page can set neither header, so whichever the proxy passes on will do.
    hosts = {asked.headers.get(name, "").strip().lower() for name in ("Host", "X-Forwarded-Host")} - {""}
    return _host(origin) in {_plain(host, urlsplit(origin).scheme) for host in hosts}


def _host(origin: str) -> str:
    parts = urlsplit(origin)
    return _plain(parts.netloc.lower(), parts.scheme)


def _plain(host: str, scheme: str) -> str:
    return host.removesuffix(_DEFAULT_PORTS.get(scheme, "\0"))
