"""What goes wrong on the way to an answer, each as one clear line. The server's own words and its address are for
staff; its key is for nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chat.model import Failed
from data.errors import SettingsError
from data.model import Viewer

if TYPE_CHECKING:
    from chat.model_server import ModelServer

_TOO_LONG = (
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "context size",
    "too many tokens",
    "prompt is too long",
)
_MOST_WORDS = 300


class Stopped(Exception):
    """The person has stopped the answer."""


@dataclass(eq=False)
class Fault(Exception):
    """What went wrong in words for everybody; `detail` the server's own words."""

    code: str
    message: str
    hint: str = ""
    is_retryable: bool = True
    detail: str = ""


def failed(fault: Fault, viewer: Viewer) -> Failed:
    """What the viewer may read of it."""
    said = f"The server says: {fault.detail}" if fault.detail and viewer.is_staff else ""
    return Failed(fault.code, fault.message, " ".join(part for part in (fault.hint, said) if part), fault.is_retryable)


def time_out(seconds: float, what: str) -> Fault:
    return Fault("time_out", f"The model server {what} within {seconds:g} s.", "Ask again, or ask for less at once.")


def cut_off(detail: str = "") -> Fault:
    return Fault("cut_off", "The answer broke off: the model server closed the connection.", "Ask again.", True, detail)


def fault_of(err: Exception, server: ModelServer, *, has_begun: bool) -> Fault:
    """The fault behind an error of the client. `has_begun` = parts of the answer had come."""
    import openai

    if isinstance(err, SettingsError):
        return Fault(
            "not_configured", "The model server is not set up rightly.", "", False, f"{err} {err.hint}".strip()
        )
    detail = _words(err, server)
    if isinstance(err, openai.APITimeoutError):
        return _silent(server, detail, has_begun=has_begun)
    if isinstance(err, openai.APIConnectionError):
        return cut_off(detail) if has_begun else _unreachable(err, detail)
    if isinstance(err, openai.APIStatusError):
        return _of_status(err.status_code, err.code or "", detail, has_key=_has_key(server))
    if isinstance(err, openai.APIError):  # told in mid-stream
        return _of_status(_status_within(err.body), err.code or "", detail, has_key=_has_key(server))
    if isinstance(err, ValueError):
        return Fault("garbled", "The model server sent something that is no answer.", "Ask again.", True, detail)
    return Fault("unexpected", "The question failed unexpectedly.", "Ask again.", True, detail)


def _silent(server: ModelServer, detail: str, *, has_begun: bool) -> Fault:
    what = "fell silent in the middle and said no more" if has_begun else "did not answer"
    fault = time_out(server.settings.silence_seconds, what)
    return Fault(fault.code, fault.message, fault.hint, True, detail)


def _unreachable(err: Exception, detail: str) -> Fault:
    cause = f"{detail} ({err.__cause__})" if err.__cause__ else detail
    return Fault("unreachable", "The model server does not answer.", "Commands such as /help still work.", True, cause)


def _of_status(status: int, code: str, detail: str, *, has_key: bool) -> Fault:
    words = f"{code} {detail}".lower()
    if status in (400, 413, 500) and any(part in words for part in _TOO_LONG):
        hint = "Begin a new conversation, or ask for less at once."
        return Fault("too_long", "The conversation is longer than the model can read.", hint, False, detail)
    if status in (401, 403) and not has_key:
        text = "The model server wants a key, and none is set."
        return Fault("no_key", text, "Staff set chat.api_key_file.", False, detail)
    if status in (401, 403):
        return Fault("wrong_key", "The model server refuses the key.", "Staff check chat.api_key_file.", False, detail)
    if 300 <= status < 400:
        text = "The model server sends the question elsewhere, and it is not sent on."
        return Fault("redirected", text, "Staff set chat.base_url to where it is.", False, detail)
    if status == 404:
        text = "The model server does not know the model, or not this address."
        return Fault("unknown_model", text, "Staff check chat.model and chat.base_url.", False, detail)
    if status == 429 and "quota" in words:
        return Fault("quota", "The site's quota at the model server is used up.", "Tell the staff.", False, detail)
    if status == 429:
        return Fault("busy", "The model server has too much to do.", "Ask again in a moment.", True, detail)
    if 400 <= status < 500:
        return Fault("refused", "The model server refused the question.", "Staff see its words.", True, detail)
    return Fault("server_error", "The model server failed.", "Ask again in a moment.", True, detail)


def _status_within(body: object) -> int:
    code = body.get("code") if isinstance(body, dict) else None
    return int(code) if isinstance(code, int | str) and str(code).isdigit() and len(str(code)) == 3 else 500


def _has_key(server: ModelServer) -> bool:
    try:
        return bool(server.key())
    except SettingsError:
        return False


def _words(err: Exception, server: ModelServer) -> str:
    """The error's words without the key, cut."""
    words = " ".join(str(err).split())
    if _has_key(server):
        words = words.replace(server.key(), "…")
    return words[:_MOST_WORDS]
