"""One time limit over a whole request.

The time-out of a socket starts anew with every byte, so a server that drips could hold a request for ever. A
deadline shuts the socket itself when the time is over, whatever the client waits for.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse

_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


class Deadline:
    """Ends whatever request runs inside its `with` blocks when `seconds` are over; call `end` when done."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False
        self._token: Token[Deadline | None] | None = None
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    @property
    def remaining(self) -> float:
        return self._at - time.monotonic()

    @property
    def is_over(self) -> bool:
        return self._is_cut or self.remaining <= 0

    def watch(self, sock: socket.socket | None) -> None:
        """The socket on which the request now waits."""
        with self._lock:
            self._socket = sock
            if self._is_cut:
                self._shut()

    def end(self) -> None:
        self._timer.cancel()
        self.watch(None)

    def __enter__(self) -> Deadline:
        self._token = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _current.reset(self._token)
        self.watch(None)

    def _cut(self) -> None:
        with self._lock:
            self._is_cut = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            # not SSLSocket.shutdown: that would take the TLS state from under the reading thread
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def _watch(connection: HTTPConnection) -> None:
    deadline = _current.get()
    if deadline is not None:
        deadline.watch(connection.sock)


class _WatchedHTTP(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        _watch(self)
        return super().getresponse()


class _WatchedHTTPS(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]
        _watch(self)
        return super().getresponse()


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedHTTPS


class DeadlineAdapter(HTTPAdapter):
    """An adapter whose connections tell the current deadline their socket. It never retries by itself."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        _use_watched(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        _use_watched(manager)
        return manager


def _use_watched(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
