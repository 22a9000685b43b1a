"""Reads a stream of the model server in a thread of its own, so that whoever waits can stop at any moment.

When it is stopped before the first byte of an answer has come, the request ends with that byte or with the longest
silence; afterwards at once.
"""

from __future__ import annotations

import queue
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from chat.assistant_faults import Stopped, fault_of, time_out

if TYPE_CHECKING:
    from openai import APIStatusError, Stream

    from chat.model_server import ModelServer

_LOOK_SECONDS = 0.05
_LONGEST_PAUSE = 60.0
_MOST_WAITING = 200  # chunks; a server that is faster than we waits
_END = object()


@dataclass
class Pump:
    """The chunks of one answer. Close it in a `finally`."""

    server: ModelServer
    body: Mapping[str, Any]
    deadline: float  # of time.monotonic
    _chunks: queue.Queue[object] = field(default_factory=lambda: queue.Queue(_MOST_WAITING))
    _given_up: threading.Event = field(default_factory=threading.Event)
    _stream: Stream[object] | None = None
    _has_begun: bool = False

    def chunks(self, stop: Callable[[], bool]) -> Iterator[object]:
        """Chunks as they come. Raises Stopped, and Fault for everything else."""
        threading.Thread(target=self._read, name="model-stream", daemon=True).start()
        while True:
            item = self._next(stop)
            if item is _END:
                return
            if isinstance(item, Exception):
                raise fault_of(item, self.server, has_begun=self._has_begun) from item
            yield item

    def close(self) -> None:
        """Leave: the thread ends, and the server sees that nobody listens."""
        self._given_up.set()
        if self._stream is not None:
            _cut(self._stream)

    def _next(self, stop: Callable[[], bool]) -> object:
        while True:
            if stop():
                raise Stopped
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise time_out(self.server.settings.turn_seconds, "did not finish")
            with suppress(queue.Empty):
                return self._chunks.get(timeout=min(left, _LOOK_SECONDS))

    def _read(self) -> None:
        try:
            self._stream = stream = self._opened()
            try:
                for chunk in _chunks_of(stream) if not self._given_up.is_set() else ():
                    self._has_begun = True
                    self._put(chunk)
                    if self._given_up.is_set():
                        break
            finally:
                stream.close()
            self._put(_END)
        except Exception as err:
            self._put(err)

    def _put(self, item: object) -> None:
        """Hand it on, as soon as there is room and while anybody wants it."""
        while not self._given_up.is_set():
            with suppress(queue.Full):
                self._chunks.put(item, timeout=_LOOK_SECONDS)
                break

    def _opened(self) -> Stream[object]:
        """The stream, after the retries that are allowed for load and faults of the server."""
        from openai import APIStatusError

        attempts = self.server.settings.retries
        while True:
            try:
                return self.server.open(self.body)
            except APIStatusError as err:
                if attempts <= 0 or not _is_passing(err) or self._given_up.wait(self._pause(err, attempts)):
                    raise
                attempts -= 1

    def _pause(self, err: APIStatusError, attempts_left: int) -> float:
        asked = _retry_after(err.response.headers.get("retry-after", ""))
        tried = self.server.settings.retries - attempts_left
        pause = 0.5 * 2**tried * (1 + random.random() / 4) if asked is None else asked
        return max(0.0, min(pause, _LONGEST_PAUSE, self.deadline - time.monotonic()))


def _is_passing(err: APIStatusError) -> bool:
    return err.status_code >= 500 or (err.status_code == 429 and err.code != "insufficient_quota")


def _retry_after(text: str) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None without one that can be read."""
    with suppress(ValueError):
        return max(0.0, float(text))
    with suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return None


def _chunks_of(stream: Stream[object]) -> Iterator[object]:
    """Chunks of a stream; the one body of a server that does not stream counts as a chunk."""
    if "application/json" in stream.response.headers.get("content-type", ""):
        stream.response.read()
        yield stream.response.json()
    else:
        yield from stream


def _cut(stream: Stream[object]) -> None:
    """End the connection from another thread than the one that reads it: closing alone would not wake that one."""
    network = stream.response.extensions.get("network_stream")
    found = None if network is None else network.get_extra_info("socket")
    if found is not None:
        with suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)
