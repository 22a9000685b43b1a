"""Whether the model server can be used: asked for its models and for one call of a tool, as `fullwarp check` says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from difflib import get_close_matches

from chat.assistant_faults import Fault, Stopped, fault_of
from chat.model_server import ModelServer
from chat.stream import Gathered
from chat.stream_pump import Pump
from data.check.result import Check, Verdict
from data.errors import SettingsError
from settings import ChatSettings

SUBJECT = "Assistant"
_PING = {
    "type": "function",
    "function": {
        "name": "ping",
        "description": "Tell that the connection works. Call it when you are asked to.",
        "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        "strict": True,
    },
}
_ASKED = [{"role": "user", "content": "Call the tool ping now. Do not answer in words."}]
_SECONDS = 60.0


def model_checks(settings: ChatSettings) -> Iterator[Check]:
    """What works of the model server, in the order in which a person would mend it; nothing where none is set."""
    if not settings.has_model:
        return
    server = ModelServer(settings)
    known = _known(server)
    yield known
    if known.verdict is not Verdict.PROBLEM:
        yield _calls(server)


def _known(server: ModelServer) -> Check:
    """Whether the server answers, takes the key, and lists the model."""
    from openai import OpenAIError

    wanted = server.settings.model
    try:
        names = server.models()
    except (OpenAIError, SettingsError, ValueError) as err:
        return _problem(fault_of(err, server, has_begun=False))
    if names is None or wanted in names or f"{wanted}:latest" in names:
        what = "does not list its models" if names is None else f"knows {wanted}"
        return Check(SUBJECT, Verdict.OK, f"the model server {server.host} answers and {what}")
    near = get_close_matches(wanted, names, 3, 0.3) or sorted(names)[:3]
    text = f"the model server {server.host} does not list chat.model = {wanted}"
    return Check(SUBJECT, Verdict.NOTE, text, (f"in fullwarp.toml, under [chat]: model, such as {', '.join(near)}",))


def _calls(server: ModelServer) -> Check:
    """Whether it streams and calls a tool."""
    gathered, began = Gathered(), time.monotonic()
    pump = Pump(server, server.body(_ASKED, [_PING], may_call=True), began + _SECONDS)
    try:
        for chunk in pump.chunks(lambda: False):
            gathered.add(chunk)
    except Fault as fault:
        return _problem(fault)
    except Stopped:
        return Check(SUBJECT, Verdict.UNKNOWN, "the check was stopped")
    finally:
        pump.close()
    if any(call.name == "ping" for call in gathered.calls):
        return Check(SUBJECT, Verdict.OK, f"it streams and calls tools, in {time.monotonic() - began:.1f} s")
    text = f"{server.settings.model} answered, and did not call the tool that it was asked to call"
    fix = ("Choose a model that can call tools; with vLLM, start it with --enable-auto-tool-choice.",)
    return Check(SUBJECT, Verdict.PROBLEM, text, fix)


def _problem(fault: Fault) -> Check:
    return Check(SUBJECT, Verdict.PROBLEM, fault.message, tuple(part for part in (fault.hint, fault.detail) if part))
