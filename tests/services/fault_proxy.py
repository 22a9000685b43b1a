"""A TCP proxy that breaks HTTP on the wire: the client under test sees real sockets, real cuts, real delays."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from io import BufferedReader
from types import TracebackType

MODES = ("pass", "delay", "cut", "garbage", "noise", "half", "500", "refuse", "drip")
_PIECE = 65536


class FaultProxy:
    """Forward HTTP from a free loopback `port` to the target, and break it as `mode` says (may change while running).

    pass      forward
    delay     wait `delay_seconds`, then forward the answer
    cut       reset the connection when a request has come, without an answer
    garbage   answer 200 with a body that is no JSON
    noise     answer bytes that are no HTTP
    half      forward the head and the first half of the body, then close
    500       answer 500
    refuse    close the port and all connections: connection refused
    drip      forward the answer one byte every `drip_seconds`, so that no single read ever waits long

    `requests` counts complete HTTP requests (retries and each one on a kept-alive connection), `connections`
    accepted connections.
    """

    def __init__(self, target_host: str, target_port: int) -> None:
        self.target = (target_host, target_port)
        self.delay_seconds = 1.0
        self.drip_seconds = 0.05
        self.requests = 0
        self.connections = 0
        self.paths: list[str] = []
        self._mode = "pass"
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._stopped = threading.Event()
        self._listener: socket.socket | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def mode(self) -> str:
        return self._mode

    @mode.setter
    def mode(self, value: str) -> None:
        if value not in MODES:
            raise ValueError(f"mode {value!r} is not one of {', '.join(MODES)}")
        self._mode = value
        if value == "refuse":
            self._close_listener()
            self._close_connections()
        elif self._listener is None and not self._stopped.is_set():
            self._listen()

    def reset_counts(self) -> None:
        with self._lock:
            self.requests = self.connections = 0
            self.paths = []

    def __enter__(self) -> FaultProxy:
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._close_listener()
        self._close_connections()

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self._listener is not listener:
                client.close()
                return
            with self._lock:
                self.connections += 1
                self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        upstream: socket.socket | None = None
        try:
            reader = client.makefile("rb")
            while request := _read_request(reader):
                with self._lock:
                    self.requests += 1
                    self.paths.append(request.split(b" ", 2)[1].decode("latin-1"))
                broken = self._answer_alone(client)
                if broken is False:
                    return
                if broken is None:
                    upstream = upstream or self._connect()
                    upstream.sendall(request)
                    if not self._forward(request, upstream, client):
                        return
        except OSError:
            pass
        finally:
            for side in (client, upstream):
                self._close(side)

    def _answer_alone(self, client: socket.socket) -> bool | None:
        """Answer without the target: True = keep the connection, False = end it, None = not for this mode."""
        mode = self._mode
        if mode == "cut":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if mode == "noise":
            client.sendall(bytes(range(256)) * 4)
            return False
        if mode == "garbage":
            client.sendall(_answer("200 OK", b'<html>{"status": \xff\xfe not json'))
            return True
        if mode == "500":
            client.sendall(_answer("500 Internal Server Error", b"something broke"))
            return True
        return None

    def _forward(self, request: bytes, upstream: socket.socket, client: socket.socket) -> bool:
        """Bring one answer to the client; whether the connection goes on."""
        answer = _Answer(upstream.makefile("rb"), is_head=request.startswith(b"HEAD "))
        if self._mode == "delay":
            self._stopped.wait(self.delay_seconds)
        if self._mode == "half":
            head, *pieces = answer.pieces()
            body = b"".join(pieces)
            client.sendall(head + body[: len(body) // 2])
            return False
        for piece in answer.pieces():
            if self._mode == "drip":
                self._drip(client, piece)
            else:
                client.sendall(piece)
        return answer.is_kept_alive

    def _drip(self, client: socket.socket, piece: bytes) -> None:
        for position in range(len(piece)):
            if self._stopped.is_set():
                return
            client.sendall(piece[position : position + 1])
            time.sleep(self.drip_seconds)

    def _connect(self) -> socket.socket:
        upstream = socket.create_connection(self.target, timeout=60)
        with self._lock:
            self._open.add(upstream)
        return upstream

    def _close_listener(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _close_connections(self) -> None:
        with self._lock:
            sides = list(self._open)
        for side in sides:
            self._close(side)

    def _close(self, side: socket.socket | None) -> None:
        if side is None:
            return
        with self._lock:
            self._open.discard(side)
        if self._mode != "cut":
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
        # makefile() holds the descriptor open: detach closes it for certain, with a reset in mode cut
        with contextlib.suppress(OSError):
            descriptor = side.detach()
            if descriptor >= 0:
                socket.close(descriptor)


class _Answer:
    """One HTTP answer, read piece by piece as it comes."""

    def __init__(self, reader: BufferedReader, is_head: bool) -> None:
        self._reader = reader
        self._head = _read_head(reader)
        while self._head[9:10] == b"1":  # 1xx: the real answer follows
            self._head = _read_head(reader)
        fields = _fields(self._head)
        self._has_body = not is_head and self._head[9:12] not in (b"204", b"304")
        self._length = int(fields.get("content-length", "-1"))
        self._is_chunked = "chunked" in fields.get("transfer-encoding", "")
        is_framed = self._is_chunked or self._length >= 0 or not self._has_body
        self.is_kept_alive = is_framed and fields.get("connection", "").lower() != "close"

    def pieces(self) -> Iterator[bytes]:
        yield self._head
        if not self._has_body:
            return
        if self._is_chunked:
            yield from _chunks(self._reader)
        elif self._length >= 0:
            yield from _exactly(self._reader, self._length)
        else:
            while piece := self._reader.read1(_PIECE):
                yield piece


def _answer(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _read_head(reader: BufferedReader) -> bytes:
    lines = []
    while line := reader.readline(_PIECE):
        lines.append(line)
        if line in (b"\r\n", b"\n"):
            return b"".join(lines)
    return b""


def _fields(head: bytes) -> dict[str, str]:
    pairs = (line.split(":", 1) for line in head.decode("latin-1").splitlines()[1:] if ":" in line)
    return {name.strip().lower(): value.strip() for name, value in pairs}


def _read_request(reader: BufferedReader) -> bytes:
    """The next whole request, b"" when the client closed."""
    head = _read_head(reader)
    if not head:
        return b""
    fields = _fields(head)
    if "chunked" in fields.get("transfer-encoding", ""):
        return head + b"".join(_chunks(reader))
    return head + reader.read(int(fields.get("content-length", "0")))


def _chunks(reader: BufferedReader) -> Iterator[bytes]:
    while size_line := reader.readline(_PIECE):
        size = int(size_line.split(b";")[0], 16)
        yield size_line
        if size == 0:
            while line := reader.readline(_PIECE):
                yield line
                if line in (b"\r\n", b"\n"):
                    return
            return
        yield reader.read(size + 2)


def _exactly(reader: BufferedReader, length: int) -> Iterator[bytes]:
    while length > 0 and (piece := reader.read1(min(length, _PIECE))):
        length -= len(piece)
        yield piece
