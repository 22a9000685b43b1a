"""Answers as HTTP: JSON with a mark of its content, so that what has not changed is not sent again."""

from __future__ import annotations

import hashlib

from flask import Response, request

from api.failures import Failure
from terminal.form import to_json

FORM = "application/json"


def answered(value: object) -> Response:
    """The value as JSON, the same as `--json` prints; 304 without a body where the asker has it already."""
    return marked(to_json(value, is_indented=False))


def marked(body: bytes) -> Response:
    """JSON with its mark. Weak: the same answer may be sent compressed."""
    response = Response(body, mimetype=FORM)
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Vary"] = "Authorization, Cookie"
    response.set_etag(hashlib.blake2b(body, digest_size=12).hexdigest(), weak=True)
    response.make_conditional(request)
    return response


def failed(status: int, problem: Failure, headers: dict[str, str] | None = None) -> Response:
    response = Response(to_json(problem, is_indented=False), status=status, mimetype=FORM, headers=headers)
    response.headers["Cache-Control"] = "no-store"
    return response
