"""A TCP relay in front of any service, which can be cut or made silent, and mended: its clients see real refusals, real
cuts, and a server that takes connections and never answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class Relay:
    """Forward bytes from a free loopback `port` to `target`. `accepted` counts the connections so far,
    `passed` the pieces that were passed on."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = self.accepted = self.passed = 0
        self._guard = threading.Lock()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._forwards = threading.Event()

    def __enter__(self) -> Relay:
        self.mend()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()

    def mend(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(128)
        self.port, self._listener = listener.getsockname()[1], listener
        self._forwards.set()
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Close the port and every connection."""
        listener, self._listener = self._listener, None
        with self._guard:
            ends, self._open = self._open, set()
        for one in (*([listener] if listener else []), *ends):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    @property
    def standing(self) -> int:
        """Connections that neither side has closed."""
        with self._guard:
            return len(self._open) // 2

    def hush(self) -> None:
        """Take connections and bytes, and pass none on."""
        self._forwards.clear()

    def speak(self) -> None:
        """Pass on again, what was held back too."""
        self._forwards.set()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target), 5)
                far.settimeout(None)
            except OSError:
                return
            with self._guard:
                self._open |= {near, far}
                self.accepted += 1
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                self._forwards.wait()
                other.sendall(data)
                self.passed += 1
        with self._guard:
            self._open -= {one, other}
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
