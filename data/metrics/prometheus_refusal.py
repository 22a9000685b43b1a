"""What a server means when it does not answer the question: HTTP status and Prometheus' own error words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from data.errors import SourceDenied, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable

_BUSY = (408, 429, 500, 502, 503, 504)
_LONGEST_TEXT = 300


class ServerBusy(SourceError):
    """The server could not answer now (5xx, 429): another try may succeed."""


def is_worth_another_try(err: SourceError) -> bool:
    return isinstance(err, ServerBusy | SourceUnreachable)


def refusal(response: requests.Response, document: Mapping[str, Any], body: bytes, url: str) -> SourceError:
    """The error for an answer that is no success."""
    status = response.status_code
    kind = str(document.get("errorType", ""))
    text = _text(document, body)
    if status in (401, 403):
        return SourceDenied(
            f"{url} refused the credentials ({status}): {text}",
            hint="Check metrics.token_file, or metrics.username and metrics.password_file.",
        )
    if 300 <= status < 400:
        to = response.headers.get("Location", "another address")
        return SourceGarbled(f"{url} redirects to {to[:_LONGEST_TEXT]}", hint="Set metrics.url to where the API is.")
    if kind in ("timeout", "canceled"):
        return SourceTimeout(f"{url} gave the query up: {text}", hint="Raise the server's query time limit.")
    if status in _BUSY:
        return ServerBusy(f"{url} answered {status}: {text}", hint="See the log of the metrics server.")
    if status == 404:
        return SourceGarbled(f"{url} has no such path (404)", hint="Check the path in metrics.url.")
    if status == 405:
        return SourceError(f"{url} refuses the method (405)", hint='Set metrics.method to "GET".')
    if "too many samples" in text:
        return SourceError(f"{url} refused the query ({status}): {text}", hint="Ask for a shorter time.")
    return SourceError(f"{url} refused the query ({status}): {text}")


def _text(document: Mapping[str, Any], body: bytes) -> str:
    text = str(document.get("error") or body[:_LONGEST_TEXT].decode("utf-8", "replace"))
    return "".join(c if c.isprintable() else " " for c in text)[:_LONGEST_TEXT].strip()
