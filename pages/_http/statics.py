"""Bundles and style sheets from memory: compressed once, with ETag, immutable where the address names the version.

Flask would read and compress the same megabytes again for each request, even for a 304.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import brotli
import flask_bootstrap
from dash.fingerprint import check_fingerprint
from flask import Flask, Response, request
from flask.typing import ResponseReturnValue

STATIC_FOLDERS = ("assets/", "_dash-component-suites/", "_bundle/")
MAX_BYTES = 64 * 2**20
COMPRESSIBLE = ("text/", "application/javascript", "application/json", "image/svg")
LEAST_COMPRESSED = 1024
VENDOR_FOLDER = Path(flask_bootstrap.__file__).parent / "static" / "bootstrap5" / "css"


@dataclass(frozen=True, slots=True)
class Kept:
    body: bytes
    mimetype: str
    etag: str
    encoding: str
    cache_control: str

    def answer(self) -> Response:
        response = Response(self.body, mimetype=self.mimetype)
        response.headers["Cache-Control"] = self.cache_control
        response.headers["Vary"] = "Accept-Encoding"
        if self.encoding:
            response.headers["Content-Encoding"] = self.encoding
        response.set_etag(self.etag)
        response.make_conditional(request)
        return response


class Shelf:
    """At most `max_bytes` of kept answers, the least used dropped first. Safe between threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max = max_bytes
        self._kept: OrderedDict[tuple[str, str, bool], Kept] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[str, str, bool]) -> Kept | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def put(self, key: tuple[str, str, bool], kept: Kept) -> None:
        with self._lock:
            old = self._kept.pop(key, None)
            self._bytes += len(kept.body) - (len(old.body) if old else 0)
            self._kept[key] = kept
            while self._bytes > self._max and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= len(dropped.body)


def serve_from_memory(server: Flask, prefix: str) -> None:
    """Keep static answers in memory and compress the data of callbacks."""
    shelf = Shelf()
    folders = tuple(prefix + folder for folder in STATIC_FOLDERS)

    @server.before_request
    def _kept() -> ResponseReturnValue | None:
        if request.method not in ("GET", "HEAD") or not request.path.startswith(folders):
            return None
        kept = shelf.get(_shelf_key())
        return kept.answer() if kept else None

    @server.after_request
    def _compress(response: Response) -> Response:
        if response.status_code != 200 or response.headers.get("Content-Encoding"):
            return response
        if request.method == "GET" and request.path.startswith(folders):
            return _keep(shelf, response)
        return response if response.is_streamed else compressed(response, _wanted())


def _keep(shelf: Shelf, response: Response) -> Response:
    """Put a whole static file on the shelf, unless it came from there."""
    key = _shelf_key()
    kept = shelf.get(key)
    if kept is None:
        response.direct_passthrough = False
        mimetype = response.mimetype or "application/octet-stream"
        body, used = encode(response.get_data(), mimetype, key[1], quality=5)
        etag = hashlib.blake2b(body, digest_size=12).hexdigest()
        kept = Kept(body, mimetype, etag, used, _cache_control())
        shelf.put(key, kept)
    return kept.answer()


def _wanted() -> str:
    return wanted_encoding(request.headers.get("Accept-Encoding", ""))


def _shelf_key() -> tuple[str, str, bool]:
    """The file, the coding, and whether the address names a version: never the version itself, which callers choose."""
    path, fingerprinted = check_fingerprint(request.path)
    return (path, _wanted(), fingerprinted or "m" in request.args or "/_bundle/" in path)


def _cache_control() -> str:
    *_, versioned = _shelf_key()
    return "public, max-age=31536000, immutable" if versioned else "public, max-age=300"


def wanted_encoding(accepted: str) -> str:
    """br, gzip or "" of an Accept-Encoding header; a coding with q=0 is refused."""
    offered = {}
    for part in accepted.lower().split(","):
        name, _, weight = part.strip().partition(";")
        offered[name.strip()] = weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return next((name for name in ("br", "gzip") if offered.get(name)), "")


def encode(body: bytes, mimetype: str, encoding: str, quality: int = 4) -> tuple[bytes, str]:
    """The body in the wanted coding, and the coding used ("" = as it was)."""
    if len(body) < LEAST_COMPRESSED or not mimetype.startswith(COMPRESSIBLE) or not encoding:
        return body, ""
    if encoding == "br":
        return brotli.compress(body, quality=quality), "br"
    return gzip.compress(body, compresslevel=min(quality, 9)), "gzip"


def compressed(response: Response, encoding: str) -> Response:
    """The same answer, compressed where that pays."""
    body, used = encode(response.get_data(), response.mimetype or "", encoding)
    response.headers.add("Vary", "Accept-Encoding")
    if used:
        response.set_data(body)
        response.headers["Content-Encoding"] = used
    return response
