"""An OpenAI-compatible server on a loopback port that says what a script says, chunk by chunk, faults included.

In tests: `with scripted_model(replies) as model:`; by hand: `python -m tests.services.scripted_llm --port 8099`, then
FULLWARP_CHAT__KIND=openai-compatible FULLWARP_CHAT__BASE_URL=http://127.0.0.1:8099/v1 FULLWARP_CHAT__MODEL=scripted.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Piece = bytes | str | Mapping[str, Any]


class End(StrEnum):
    DONE = "done"  # data: [DONE]
    QUIET = "quiet"  # the stream just ends, as some servers do
    CUT = "cut"  # the connection breaks in mid-chunk
    HANG = "hang"  # nothing more comes until the client goes away


@dataclass(frozen=True)
class Reply:
    """One answer: pieces of the stream with a pause before each, or a whole body. A piece that is a mapping becomes a
    data line, text and bytes go out as they are."""

    pieces: Sequence[Piece] = ()
    end: End = End.DONE
    pause_seconds: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw)
        return found

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["messages"]
        return found

    @property
    def question(self) -> str:
        """What the person asked last."""
        return next(str(item["content"]) for item in reversed(self.messages) if item["role"] == "user")

    @property
    def results(self) -> list[str]:
        """The answers of tools since that question."""
        last = max(place for place, item in enumerate(self.messages) if item["role"] == "user")
        return [str(item["content"]) for item in self.messages[last:] if item["role"] == "tool"]


Script = Callable[[Received], Reply]


def delta(content: str | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk as servers send it."""
    part = ({} if content is None else {"content": content}) | more
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": part, "finish_reason": finish}],
    }


def usage(prompt: int, completion: int) -> dict[str, Any]:
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counted}


def says(text: str, *, pause_seconds: float = 0.0, finish: str = "stop") -> Reply:
    """An answer word by word."""
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1].removesuffix(" ")
    pieces = [delta("", role="assistant"), *(delta(word) for word in words), delta(finish=finish)]
    return Reply([*pieces, usage(100, len(words))], pause_seconds=pause_seconds)


def calls(*wanted: tuple[str, Mapping[str, Any]], pause_seconds: float = 0.0) -> Reply:
    """Calls of tools, the arguments in two fragments each."""
    pieces: list[Piece] = [delta(role="assistant")]
    for index, (name, arguments) in enumerate(wanted):
        text = json.dumps(arguments)
        first = {
            "index": index,
            "id": f"call_{index}_{name}",
            "type": "function",
            "function": {"name": name, "arguments": text[:3]},
        }
        pieces += [delta(tool_calls=[first])]
        pieces += [delta(tool_calls=[{"index": index, "function": {"arguments": text[3:]}}])]
    return Reply([*pieces, delta(finish="tool_calls"), usage(120, 20)], pause_seconds=pause_seconds)


def fault(status: int, message: str, *, code: str = "", retry_after: str = "") -> Reply:
    """A refusal in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code or None}
    headers = {"Retry-After": retry_after} if retry_after else {}
    return Reply(status=status, headers=headers, body=json.dumps({"error": error}).encode())


def whole(message: Mapping[str, Any], finish: str | None = "stop") -> Reply:
    """An answer in one body, though a stream was asked for."""
    choice = {"index": 0, "message": message} | ({} if finish is None else {"finish_reason": finish})
    return Reply(body=json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


def in_order(replies: Iterable[Reply]) -> Script:
    """One reply after the other; a request more than there are is a fault of the test."""
    left, guard = iter(replies), threading.Lock()

    def script(received: Received) -> Reply:
        with guard:
            return next(left, fault(500, "the script has no more replies"))

    return script


@dataclass
class ScriptedModel:
    """The server as a test sees it. `left` counts the clients that went away in the middle of an answer."""

    script: Script
    key: str = ""
    model: str = "scripted"
    port: int = 0
    received: list[Received] = field(default_factory=list)
    left: int = 0
    under_way: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def wait_for(self, is_so: Callable[[ScriptedModel], bool], seconds: float = 10.0) -> bool:
        """Wait until something is so here; False when it never was."""
        with self.changed:
            return self.changed.wait_for(lambda: is_so(self), seconds)

    def note(self, **changes: int) -> None:
        with self.changed:
            for name, step in changes.items():
                setattr(self, name, getattr(self, name) + step)
            self.changed.notify_all()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: ScriptedModel

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: what came is in `received`."""

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": self.served.model, "object": "model", "owned_by": "tests"}]}
        is_models = self.path.partition("?")[0].endswith("/models")
        self._whole(self._refusal(None) or Reply(status=200 if is_models else 404, body=json.dumps(models).encode()))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        received = Received(self.path, dict(self.headers), raw)
        refused = self._refusal(received)
        with self.served.changed:
            self.served.received.append(received)
            self.served.changed.notify_all()
        reply = refused or self.served.script(received)
        if reply.body is not None:
            return self._whole(reply)
        self.served.note(under_way=1)
        try:
            return self._stream(reply)
        finally:
            self.served.note(under_way=-1)

    def _refusal(self, received: Received | None) -> Reply | None:
        given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("api-key", "")
        if self.served.key and given != self.served.key:
            return fault(401, "Incorrect API key provided.", code="invalid_api_key")
        if received is not None and received.body.get("model", self.served.model) != self.served.model:
            return fault(404, f"The model `{received.body['model']}` does not exist.", code="model_not_found")
        return None

    def _whole(self, reply: Reply) -> None:
        body = reply.body or b""
        self.send_response(reply.status)
        for name, value in ({"Content-Type": "application/json"} | dict(reply.headers)).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply) -> None:
        self.close_connection = reply.end is not End.DONE
        try:
            self.send_response(reply.status)
            for name, value in ({"Content-Type": "text/event-stream"} | dict(reply.headers)).items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in [*reply.pieces, *(["data: [DONE]\n\n"] if reply.end is End.DONE else [])]:
                self._rest(reply.pause_seconds)
                self._send(_as_bytes(piece))
            self._finish(reply.end)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            self.served.note(left=1)

    def _rest(self, seconds: float) -> None:
        if seconds:
            self.served.closed.wait(seconds)

    def _send(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _finish(self, end: End) -> None:
        if end is End.CUT:
            self.wfile.write(b"40\r\ndata: {")
            self.wfile.flush()
            return
        while end is End.HANG and not self.served.closed.is_set():
            self.served.closed.wait(0.02)
            self._notice_leaving()
        self.wfile.write(b"0\r\n\r\n")

    def _notice_leaving(self) -> None:
        """A client that goes away closes its end; it sends nothing else during an answer."""
        self.connection.settimeout(0.001)
        with suppress(TimeoutError):
            if not self.connection.recv(1):
                raise ConnectionResetError
        self.connection.settimeout(None)


def _as_bytes(piece: Piece) -> bytes:
    if isinstance(piece, bytes):
        return piece
    return piece.encode() if isinstance(piece, str) else b"data: " + json.dumps(piece).encode() + b"\n\n"


@contextmanager
def scripted_model(
    script: Script | Iterable[Reply], *, key: str = "", model: str = "scripted", port: int = 0
) -> Iterator[ScriptedModel]:
    """The server while the block runs."""
    served = ScriptedModel(script if callable(script) else in_order(script), key, model)
    handler = type("Handler", (_Handler,), {"served": served})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients leave as they like
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.closed.set()
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def scripted_llm() -> Iterator[ScriptedModel]:
    """A server that plays the conversation of `conversation`."""
    with scripted_model(conversation()) as served:
        yield served


def conversation(pause_seconds: float = 0.0) -> Script:
    """Asks the tool that a question's words name, then tells what came: enough to see a whole conversation."""

    def script(received: Received) -> Reply:
        if received.results:
            text = f"Here is what I found in {len(received.results)} results. {_first_number(received.results[-1])}"
            return says(text, pause_seconds=pause_seconds)
        name, arguments = _chosen(received)
        return calls((name, arguments), pause_seconds=pause_seconds) if name else says(_NOTHING, pause_seconds=0)

    return script


_NOTHING = "Ask me about a job, a node, waste, or the cluster."


def _chosen(received: Received) -> tuple[str, dict[str, Any]]:
    """The tool and its arguments: a job where an id is named, waste, else the cluster; the only one where there is
    but one."""
    offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in received.body.get("tools", ())}
    words = received.question.lower()
    job = re.search(r"\d{3,}", words)
    wanted = "job_report" if job else "waste_ranking" if "wast" in words else "cluster_status"
    wanted = next(iter(offered)) if len(offered) == 1 else wanted
    if wanted not in offered:
        return "", {}
    arguments: dict[str, Any] = dict.fromkeys(offered[wanted].get("required", ()))
    return wanted, arguments | ({"job_id": job[0]} if job and "job_id" in arguments else {})


def _first_number(result: str) -> str:
    """One number of a result in words, and one that stands nowhere."""
    start, end = result.find("{"), result.rfind("}")
    value = json.loads(result[start : end + 1]) if 0 <= start < end else {}
    found = next((pair for pair in _numbers(value, "")), ("nothing", 0))
    return f"The {found[0].replace('_', ' ')} is {found[1]}. By my own guess it was 98765.4 GPU-hours."


def _numbers(value: Any, key: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, value


def main() -> None:
    """Serve a scripted conversation until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--pause", type=float, default=0.05, help="Seconds before each chunk.")
    options = parser.parse_args()
    with scripted_model(conversation(options.pause), port=options.port) as served:
        print(f"listening at {served.base_url}, model {served.model}", flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
