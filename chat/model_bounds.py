"""Bounds for what a model server sends: no answer is endless, be it in bytes or in time, and none is compressed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 32_000_000
_PLAIN = ("", "identity")


class Unbounded(ValueError):
    """More came than any answer has."""


@dataclass
class Bounds:
    """To be called with each response of a client: its body, one of an error, too, ends at the bounds."""

    seconds: float
    most_bytes: int = MOST_BYTES

    def __call__(self, response: httpx2.Response) -> None:
        """Raises Unbounded for a compressed body: a small one may become any size."""
        packed = response.headers.get("content-encoding", "").lower()
        if packed not in _PLAIN:
            response.close()
            raise Unbounded(f"a body in {packed[:40]}, and identity was asked for")
        response.stream = _bounded(response.stream, self.most_bytes, self.seconds)  # type: ignore[arg-type]  # sync client


def _bounded(stream: httpx2.SyncByteStream, most_bytes: int, seconds: float) -> httpx2.SyncByteStream:
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            left, until = most_bytes, time.monotonic() + seconds
            for piece in stream:
                left -= len(piece)
                if left < 0 or time.monotonic() > until:
                    raise Unbounded(f"more than {most_bytes:,} bytes or {seconds:g} s")
                yield piece

        def close(self) -> None:
            stream.close()

    return Bounded()
