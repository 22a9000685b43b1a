"""The routes of the assistant, below `_chat/`: ask, read on, stop, and what is kept. Who asks, the gate has settled.

The same stand below `api/chat/`, where a token names the asker: another server of ours, such as the app in Open
OnDemand, asks there for its user. It serves one request at a time, so it is never told a stream.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import orjson
from flask import Flask, Response, current_app, request
from werkzeug.exceptions import RequestEntityTooLarge

from chat.model import Asker
from components.chat_cards import as_json
from components.chat_panel import chat_panel, conversation_list
from components.chat_turn import turn_end
from data.errors import BadRequest, FullwarpError, NotFound
from data.private import default_folder
from data.telling import told
from pages._chat_asked import body_bytes, question_of, screen_of
from pages._chat_desk import Desk, stream_of
from pages._chat_log import FileLog, MemoryLog, ask_to_stop, log_folder, read_log, remove_log
from pages._chat_told import box_of
from pages._chat_view import chat_view
from pages._request import backing, viewer
from settings import Delivery, Settings

KEY = "FULLWARP_CHAT"
FOLDER, TOKEN_FOLDER = "_chat/", "api/chat/"
HEADER, HEADER_VALUE = "X-Requested-With", "fullwarp"
FORM_BYTES = 16_000
# Said by the browser itself, where the server can say nothing any more.
_LOST = {"message": "The answer was cut off.", "hint": "The connection broke off. Ask again."}
_STATUS = {"bad_request": 400, "not_found": 404, "limit": 429}


class Refused(FullwarpError):
    """A request that is turned away, with its status and code."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status, self.code = status, code


def desk() -> Desk:
    """The assistant of this request's app."""
    kept = current_app.config[KEY]
    if not isinstance(kept, Desk):
        raise TypeError(f"{KEY} of the server is not a Desk")
    return kept


def add_chat(server: Flask, prefix: str) -> None:
    """Add the routes; once per app."""
    server.config[KEY] = Desk()
    routes: tuple[tuple[str, str, Callable[[], Response]], ...] = (
        ("POST", "ask", _ask),
        ("GET", "events", _events),
        ("POST", "stop", _stop),
        ("GET", "panel", _panel),
        ("GET", "conversations", _conversations),
        ("GET", "conversation", _conversation),
        ("POST", "forget", _forget),
        ("POST", "judge", _judge),
    )
    for method, name, view in routes:
        guarded = _answering(_from_our_page(view) if method == "POST" else view)
        server.add_url_rule(f"{prefix}{FOLDER}{name}", f"chat_{name}", guarded, methods=[method])
        server.add_url_rule(f"{prefix}{TOKEN_FOLDER}{name}", f"api_chat_{name}", guarded, methods=[method])


def _answering(view: Callable[[], Response]) -> Callable[[], Response]:
    """What goes wrong, as JSON in the one form of the product."""

    @wraps(view)
    def answered() -> Response:
        try:
            return view()
        except FullwarpError as err:
            status = err.status if isinstance(err, Refused) else _STATUS.get(err.code, 503)
            message, hint = (str(err), err.hint) if status < 500 or isinstance(err, Refused) else told(err, viewer())
            return _json({"error": {"code": err.code, "message": message, "hint": hint}}, status)

    return answered


def _from_our_page(view: Callable[[], Response]) -> Callable[[], Response]:
    """Only our own script may change things: no page of another site can send this header."""

    @wraps(view)
    def checked() -> Response:
        if request.headers.get(HEADER) != HEADER_VALUE or not request.is_json:
            raise Refused(403, "forbidden", "This comes from another site.", "Ask on a page of Fullwarp.")
        return view()

    return checked


def _ask() -> Response:
    own, here = backing(), desk()
    settings, who = own.sources.settings, viewer()
    question = question_of(_body(body_bytes(settings.chat), settings.chat.question_bytes), settings.chat, who)
    asker = Asker(who, own.sources, own.sources.clock())
    if not here.has_room(settings.chat.streams):
        hint = f"{settings.chat.streams} are allowed at once (chat.streams). Try again in a few seconds."
        raise Refused(503, "busy", "Too many answers are under way.", hint)
    try:
        if question.is_for_model:
            here.keeping.take(settings, who.user, asker.now)
        is_streamed = _is_streamed(settings)
        out = MemoryLog() if is_streamed else FileLog(log_folder(_folder(own.settings)), question.turn, who.user)
    except BaseException:
        here.leave()
        raise
    base = own.settings.serve.url_prefix
    if isinstance(out, FileLog):
        here.run(asker, question, base, out, lambda: out.is_stopped)
        return _json({"turn": question.turn, "conversation": question.conversation})
    has_left: list[bool] = []
    here.run(asker, question, base, out, lambda: bool(has_left))
    response = Response(stream_of(out), mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(lambda: has_left.append(True))
    return response


def _is_streamed(settings: Settings) -> bool:
    """Whether this server can hold an answer open while it serves others, and the asker can read it."""
    if request.path.startswith(f"{backing().settings.serve.url_prefix}{TOKEN_FOLDER}"):
        return False
    wanted = settings.chat.delivery
    return wanted is Delivery.STREAM or (wanted is Delivery.AUTO and bool(request.environ.get("wsgi.multithread")))


def _folder(settings: Settings) -> Path:
    return settings.cache.directory or default_folder(os.environ)


def _events() -> Response:
    """What is new of a turn that is told in short requests; it never waits."""
    seen = request.args.get("seen", "0")
    if not seen.isdecimal() or len(seen) > 9:
        raise BadRequest(f"seen: {seen[:40]} is no count", hint="Send the number of events that are known.")
    own, turn = backing(), request.args.get("turn", "")
    try:
        found, is_over, age = read_log(log_folder(_folder(own.settings)), turn, viewer().user, int(seen))
    except FileNotFoundError as err:
        raise NotFound("There is no such answer under way", hint="Ask again.") from err
    if not is_over and age > own.sources.settings.chat.turn_seconds + 60:
        remove_log(log_folder(_folder(own.settings)), turn)
        raise Refused(503, "lost", "The server that answered has ended.", "Ask again.")
    return Response(
        b'{"over":' + (b"true" if is_over else b"false") + b',"events":[' + b",".join(found) + b"]}",
        mimetype="application/json",
    )


def _stop() -> Response:
    try:
        turn = str(_body().get("turn", ""))
        ask_to_stop(log_folder(_folder(backing().settings)), turn, viewer().user)
    except FileNotFoundError:
        return _json({"stopped": False})
    return _json({"stopped": True})


def _panel() -> Response:
    own = backing()
    view = chat_view(own.sources.settings, own.settings.serve.url_prefix, viewer(), screen_of(_path(), viewer()))
    return _json(
        {
            "panel": chat_panel(view),
            "ends": {"lost": turn_end("-", failure=_LOST), "stopped": turn_end("-", is_cut=True)},
        }
    )


def _path() -> str:
    return request.args.get("path", "")


def _conversations() -> Response:
    own = backing()
    settings, keeping = own.sources.settings, desk().keeping
    keeping.clean(settings, own.sources.clock())
    found = keeping.list(settings, viewer().user, own.sources.clock())
    days = settings.chat.history_days if keeping.is_kept(settings) else 0
    return _json({"list": conversation_list([(one.id, one.title, one.asked_at) for one in found], days)})


def _conversation() -> Response:
    own = backing()
    kept = desk().keeping.turns(own.sources.settings, viewer().user, request.args.get("id", ""), own.sources.clock())
    if not kept:
        raise NotFound("There is no such conversation", hint="It was deleted, is too old, or is another person's.")
    return _json({"turns": [box_of(one, own.settings.serve.url_prefix) for one in kept]})


def _forget() -> Response:
    """One conversation of the person's own, or all of them."""
    given = _body()
    conversation, is_all = given.get("conversation"), given.get("all")
    if (is_all is True) == bool(conversation) or not isinstance(conversation, str | None):
        raise BadRequest("conversation or all is wanted", hint='Send {"conversation": "..."} or {"all": true}.')
    gone = desk().keeping.forget(backing().sources.settings, viewer().user, conversation or "")
    return _json({"deleted": gone})


def _judge() -> Response:
    given = _body()
    thumb, comment = given.get("thumb"), given.get("comment", "")
    if thumb not in (1, -1, None) or isinstance(thumb, bool) or not isinstance(comment, str):
        raise BadRequest("thumb is 1, -1 or null, and comment a text")
    desk().keeping.judge(backing().sources.settings, viewer().user, str(given.get("turn", "")), thumb, comment)
    return _json({"kept": True})


def _body(most: int = FORM_BYTES, question: int | None = None) -> Mapping[str, Any]:
    """The JSON object of a request of at most `most` bytes. Raises Refused for a larger one, which names the limit of
    its `question` where that is what is large, and BadRequest for another thing."""
    request.max_content_length = most
    try:
        raw = request.get_data(cache=False)
    except RequestEntityTooLarge as err:
        limit = f"{most:,} are taken" if question is None else f"{question:,} of a question are taken"
        setting = "" if question is None else " (chat.question_bytes)"
        hint = "Ask with fewer words: name a job instead of pasting its output."
        message = f"This has {request.content_length or 0:,} bytes; at most {limit}{setting}."
        raise Refused(413, "too_large", message, hint) from err
    try:
        given = orjson.loads(raw)
    except orjson.JSONDecodeError as err:
        raise BadRequest("the body is no JSON", hint="Send a JSON object.") from err
    if not isinstance(given, dict):
        raise BadRequest("the body is no JSON object", hint="Send a JSON object.")
    return given


def _json(value: Any, status: int = 200) -> Response:
    return Response(as_json(value), status=status, mimetype="application/json")
