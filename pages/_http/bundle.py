"""What every page loads, in a few files: each request costs the first view a round trip and a turn of the server.

Our own scripts and style sheets are one file each, Bootstrap's style sheet with ours. Of Dash's scripts those that
stand alone are put together; those that load parts of themselves need their own address and keep it. What few pages
use is only named in the index page: `assets/js/08-late.js` fetches it when it is drawn, `90-chat.js` what the
assistant's panel needs when it is first opened.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path

from flask import Flask, Response, abort

from pages._http.gate import WARM_UP_KEY, WARM_UP_TOKEN
from pages._http.statics import VENDOR_FOLDER

FOLDER = "_bundle/"
ICON = (
    '<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,%3Csvg xmlns=%27http://www.w3.org/2000/svg%27 '
    "viewBox=%270 0 16 16%27%3E%3Cpath fill=%27%237E8691%27 "
    'd=%27M0 1h3v14H0zm4.4 0h3v14h-3zm4.3 0h3v14h-3zM13 1h3v14h-3z%27/%3E%3C/svg%3E">'
)
_SCRIPT = re.compile(r'<script src="([^"]+)"></script>')
_SCRIPT_NAME = "dash-renderer-{}.js"  # Dash looks for this word in its index page
_NOT_USED = re.compile(r"/dash/dash_table/")
_LATE = re.compile(r"/_dash-component-suites/(dash_ag_grid)/dash_ag_grid\.")


@dataclass(slots=True)
class Bundles:
    """Files by name; a name carries the hash of its content. `read` gives the bytes behind an address of the app."""

    prefix: str
    assets: Path
    read: Callable[[str], bytes]
    _files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    _known: dict[tuple[str, ...], str] = field(default_factory=dict)

    def style_tag(self) -> str:
        """Bootstrap first, so that ours wins."""
        parts = [VENDOR_FOLDER / "bootstrap.min.css", *sorted((self.assets / "css").glob("*.css"))]
        return f'<link rel="stylesheet" href="{self._keep(_joined(parts), "text/css", "fullwarp-{}.css")}">'

    def script_tags(self, tags: str) -> str:
        """Dash's script tags with the same scripts in fewer files; our own come first. Inline ones stay."""
        addresses = tuple(address for address in _SCRIPT.findall(tags) if not _NOT_USED.search(address))
        if addresses not in self._known:
            now = self._merged(address for address in addresses if not _LATE.search(address))
            scripts = (f'<script src="{one}"></script>' for one in now)
            self._known[addresses] = "\n".join([_late(addresses, self._chat()), *scripts])
        return self._known[addresses] + _SCRIPT.sub("", tags).strip()

    def _chat(self) -> str:
        """The address of the assistant's own scripts."""
        own = _joined(sorted((self.assets / "js" / "chat").glob("*.js")), b"\n;\n")
        return self._keep(own, "application/javascript", "fullwarp-chat-{}.js")

    def _merged(self, addresses: Iterable[str]) -> Iterable[str]:
        own = _joined(sorted((self.assets / "js").glob("*.js")), b"\n;\n")
        bodies = [("", own), *((address, self.read(address)) for address in addresses)]
        for is_alone, group in groupby(bodies, lambda one: b"currentScript" in one[1]):
            found = list(group)
            if is_alone:
                yield from (address for address, _ in found)
            else:
                yield self._keep(b"\n;\n".join(body for _, body in found), "application/javascript", _SCRIPT_NAME)

    def _keep(self, body: bytes, mimetype: str, name: str) -> str:
        name = name.format(hashlib.blake2b(body, digest_size=9).hexdigest())
        self._files[name] = (body, mimetype)
        return f"{self.prefix}{FOLDER}{name}"

    def serve(self, name: str) -> Response:
        """The file of this name; 404 for any other."""
        if name not in self._files:
            abort(404)
        body, mimetype = self._files[name]
        return Response(body, mimetype=mimetype)


def _read(server: Flask, address: str) -> bytes:
    """The bytes behind an address of our own; nobody asked for them, so nobody counts them."""
    return bytes(server.test_client().get(address, environ_overrides={WARM_UP_KEY: WARM_UP_TOKEN}).data)


def _late(addresses: Iterable[str], chat: str) -> str:
    """Where the scripts are that come when they are needed, by the name of their components."""
    found = [("chat", chat), *((match[1], address) for address in addresses if (match := _LATE.search(address)))]
    named = "".join(f' data-{name}="{escape(address)}"' for name, address in found)
    return f'<template id="late-scripts"{named}></template>'


def _joined(paths: Iterable[Path], between: bytes = b"\n") -> bytes:
    return between.join(path.read_bytes() for path in paths)


def serve_bundles(server: Flask, prefix: str, assets: Path) -> Bundles:
    """Add the route and give the bundles; the files are read when a page first needs them."""
    bundles = Bundles(prefix, assets, functools.partial(_read, server))
    server.add_url_rule(f"{prefix}{FOLDER}<name>", "bundle", bundles.serve)
    return bundles
