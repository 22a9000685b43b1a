"""A talk with a mail server that ends in time, whatever the server does.

smtplib limits each wait alone: a server that sends a byte now and then would hold the enforcer for days.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from types import TracebackType

_AGAIN_SECONDS = 0.2


class Talk:
    """Cuts the connection after `seconds`; what waits for the server then fails. Use it as a context."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._done = threading.Event()
        self.server: smtplib.SMTP | None = None
        self.is_cut = False

    def __enter__(self) -> Talk:
        threading.Thread(target=self._watch, name="smtp-limit", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()

    def _watch(self) -> None:
        seconds = self._seconds
        while not self._done.wait(seconds):
            self.is_cut, seconds = True, _AGAIN_SECONDS
            connection = getattr(self.server, "sock", None)
            if connection is not None:
                with suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


class PlainServer(smtplib.SMTP):
    """Known to its talk before it connects."""

    def __init__(self, talk: Talk, host: str, port: int, seconds: float) -> None:
        talk.server = self
        super().__init__(host, port, timeout=seconds)


class TlsServer(smtplib.SMTP_SSL):
    """The same, with TLS from the first byte."""

    def __init__(self, talk: Talk, host: str, port: int, seconds: float, context: ssl.SSLContext) -> None:
        talk.server = self
        super().__init__(host, port, timeout=seconds, context=context)
