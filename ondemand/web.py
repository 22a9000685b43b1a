"""The WSGI app: which address shows what, and what every answer carries.

It changes nothing, so it only knows GET, but for what it passes on to the server's assistant.
"""

from __future__ import annotations

import functools
import logging
import os
import pwd
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from flask import Flask, Response, request
from werkzeug.exceptions import Forbidden, HTTPException
from werkzeug.exceptions import NotFound as NoSuchAddress

from data.errors import BadRequest, CannotKnow, FullwarpError, NotFound, SettingsError
from ondemand.ask import MOST_BYTES, ROUTES, Places, is_from_here, passed_on
from ondemand.files import Files, find_files
from ondemand.frame import Around, Shown, document
from ondemand.options import Mode, Options, read_options
from ondemand.shown import (
    Question,
    View,
    view_ask,
    view_cluster,
    view_efficiency,
    view_failed,
    view_job,
    view_my_jobs,
    view_widget,
)

if TYPE_CHECKING:
    from ondemand.answers import Answers

THEMES = ("light", "dark")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """Who answers and how the site wants it; `fault` = nobody can, and why."""

    options: Options
    answers: Answers | None
    fault: SettingsError | None = None


def application_in(folder: Path) -> Flask:
    """The app of this folder, for the user who runs the process."""
    return make_app(lambda: open_for_process(folder), find_files(folder / "public"))


def open_for_process(folder: Path) -> Opened:
    """The settings of the site and who answers; a fault is shown, and looked at again with the next request."""
    try:
        options = read_options(folder)
    except SettingsError as err:
        return Opened(Options.model_construct(), None, err)
    try:
        return Opened(options, open_answers(options, process_user()))
    except SettingsError as err:
        return Opened(options, None, err)


def process_user() -> str:
    """The name of the process's user, by its real id. Raises SettingsError for root and for an id without a name."""
    if os.getuid() == 0:
        raise SettingsError("This app does not run as root", hint="Open OnDemand runs it as the user who looks.")
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError as err:
        raise SettingsError(f"The user id {os.getuid()} has no name on this host") from err


def open_answers(options: Options, user: str) -> Answers:
    if options.mode is Mode.DIRECT:
        from ondemand.direct import Direct

        return Direct(options, user)
    from ondemand.central import Central
    from ondemand.keeping import Keeper, own_folder

    return Central(options, user, Keeper(own_folder(pwd.getpwnam(user).pw_dir)))


def make_app(opener: Callable[[], Opened], files: Files) -> Flask:
    """`opener` is called at the first request, and again while it gives a fault."""
    app = Flask("fullwarp-ondemand", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    kept: list[Opened] = []

    def opened() -> Opened:
        if not kept or kept[0].fault is not None:
            kept[:] = [opener()]
        return kept[0]

    def route(rule: str, view: View) -> None:
        app.add_url_rule(rule, rule, lambda **given: _answer(opened(), view, files, given), methods=["GET"])

    route("/", lambda one: view_widget(one) if one.is_embedded else view_my_jobs(one))
    route("/efficiency", view_efficiency)
    route("/cluster", view_cluster)
    route("/jobs/<path:job_id>", view_job)
    route("/ask", view_ask)
    for name, (method, _) in ROUTES.items():
        view = functools.partial(_passed_on, opened, name)
        app.add_url_rule(f"/_chat/{name}", f"_chat/{name}", view, methods=[method])
    app.register_error_handler(HTTPException, _as_it_is)
    app.after_request(lambda response: _with_headers(response, opened().options))
    return app


def _answer(opened: Opened, view: View, files: Files, given: dict[str, str]) -> Response:
    options = opened.options
    question = Question(
        opened.answers,
        _base(),
        options.pages,
        given.get("job_id", ""),
        request.args.get("embed") == "1",
        options.has_chat,
    )
    try:
        if opened.fault is not None:
            raise opened.fault
        shown = view(question)
    except FullwarpError as err:
        status = _status(err)
        log.log(logging.WARNING if status >= 500 else logging.INFO, "%s: %s", request.path, err)
        shown = view_failed(err, status)
    if request.args.get("part") == "1" and not shown.is_talk:
        return _part(shown)
    theme = request.args.get("theme", "")
    around = Around(
        question.base,
        files,
        options.refresh_seconds,
        options.has_chat,
        question.is_embedded,
        theme if theme in THEMES else "",
    )
    return Response(document(shown, around), status=shown.status, mimetype="text/html")


def _passed_on(opener: Callable[[], Opened], name: str) -> Response:
    opened = opener()
    if opened.answers is None or not opened.options.has_chat:
        raise NoSuchAddress
    if request.method == "POST" and not is_from_here(request):
        raise Forbidden
    server = urlsplit(opened.options.server).path.rstrip("/") + "/"
    found = passed_on(opened.answers, name, request, Places(server, _base(), opened.options.pages.rstrip("/")))
    return Response(orjson.dumps(found.body), status=found.status, mimetype="application/json")


def _part(shown: Shown) -> Response:
    """What a refresh replaces; a fault is content, too, so that the page says why it is old."""
    body = orjson.dumps({"parts": shown.parts, "as_of": shown.as_of})
    return Response(body, mimetype="application/json")


def _base() -> str:
    """Where the web server has put the app: from the server's own side of the request, never from a header."""
    return str(request.environ.get("SCRIPT_NAME") or "").rstrip("/") + "/"


def _status(err: FullwarpError) -> int:
    if isinstance(err, CannotKnow):  # not a fault: there is no such thing here
        return 200
    return 404 if isinstance(err, NotFound) else 400 if isinstance(err, BadRequest) else 503


def _as_it_is(err: HTTPException) -> Any:
    return Response(f"{err.code} {err.name}\n", status=err.code, mimetype="text/plain")


def _with_headers(response: Response, options: Options) -> Response:
    frames = " ".join(["'self'", *options.frame_ancestors])
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        f"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {frames}"
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["Cache-Control"] = "no-store"
    return response
