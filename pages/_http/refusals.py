"""A request that is not answered: why, and what to do; a page for people, JSON for scripts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from data.tracing import trace
from pages._http.messages import message_page


@dataclass(frozen=True, slots=True)
class Refusal:
    """`title` heads the page; `code` is for programs."""

    status: int
    code: str
    title: str
    message: str
    hint: str


def refused(why: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    """The answer in the form that was asked for."""
    if is_for_people():
        response = Response(message_page(why.title, why.message, why.hint), mimetype="text/html")
    else:
        response = jsonify({"error": {"code": why.code, "message": why.message, "hint": why.hint}})
    response.status_code = why.status
    response.headers.update(headers or {})
    return response


def is_for_people() -> bool:
    """Whether the asker would rather read a page."""
    return request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"


def explain_failures(server: Flask) -> None:
    """What went wrong in us is told by the id of the request alone: the log has the rest."""

    @server.errorhandler(500)
    def _failed(_: HTTPException) -> Response:
        now = trace()
        about = f"Request {now.request_id}." if now else ""
        message = "Fullwarp failed at this. Nothing was changed."
        return refused(
            Refusal(500, "internal", "Something went wrong", message, f"Tell the cluster staff. {about}".strip())
        )
