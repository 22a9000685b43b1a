"""Send the simulated cluster to a Prometheus by remote write (version 1): protobuf, snappy-framed.

The message has three fields, so it is packed here with numpy. Snappy data may consist of literals alone, which every
reader accepts. A series whose job ended gets the staleness marker that a scrape would have left.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta

import numpy as np
import requests

from data.errors import SourceDenied, SourceError, SourceUnreachable
from data.model import Window
from data.simulation.chance import Floats
from data.simulation.exposition import Samples, exported
from data.simulation.grid import INTERVAL
from data.simulation.world import World

CHUNK = timedelta(hours=2)
_BATCH_BYTES = 2_000_000
_STALE = np.frombuffer(struct.pack("<Q", 0x7FF0000000000002), dtype="<f8")
_HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}


def remote_write(
    world: World,
    window: Window,
    url: str,
    metrics: Collection[str] | None = None,
    *,
    timeout_seconds: float = 60.0,
) -> int:
    """Send all samples of the window (or only those of `metrics`) in time order and give back their number.

    `url` is the whole address, such as http://host:9090/api/v1/write. Raises SourceError when the server refuses.
    """
    total = 0
    with requests.Session() as session:
        start = window.start
        while start < window.end:
            chunk = Window(start, min(start + CHUNK, window.end))
            for body, count in _bodies(world, chunk, metrics):
                _post(session, url, body, timeout_seconds)
                total += count
            start = chunk.end
    return total


def _bodies(world: World, window: Window, metrics: Collection[str] | None) -> Iterator[tuple[bytes, int]]:
    parts: list[bytes] = []
    size = count = 0
    for family, series in exported(world, window, metrics):
        for one in series:
            parts.append(packed({"__name__": family.name, **one.labels}, *_with_marker(one)))
            size, count = size + len(parts[-1]), count + len(one.times)
            if size > _BATCH_BYTES:
                yield snappy(b"".join(parts)), count
                parts, size, count = [], 0, 0
    if parts:
        yield snappy(b"".join(parts)), count


def _with_marker(series: Samples) -> tuple[Floats, Floats]:
    if series.ended_at is None:
        return series.times, series.values
    return np.append(series.times, series.times[-1] + INTERVAL), np.concatenate([series.values, _STALE])


def packed(labels: Mapping[str, str], times: Floats, values: Floats) -> bytes:
    """One TimeSeries of a WriteRequest: sorted labels, then samples of 18 bytes (6-byte times, good until 2109)."""
    head = b"".join(_field(0x0A, _text(0x0A, name) + _text(0x12, labels[name])) for name in sorted(labels))
    count = len(times)
    rows = np.empty((count, 18), np.uint8)
    rows[:, :3] = (0x12, 16, 0x09)
    rows[:, 3:11] = np.ascontiguousarray(values, dtype="<f8").view(np.uint8).reshape(count, 8)
    rows[:, 11] = 0x10
    milliseconds = np.round(times * 1000).astype(np.int64)
    for place in range(6):
        rows[:, 12 + place] = (milliseconds >> (7 * place)) & 127 | (128 if place < 5 else 0)
    return _field(0x0A, head + rows.tobytes())


def _field(tag: int, body: bytes) -> bytes:
    return bytes([tag]) + _varint(len(body)) + body


def _text(tag: int, text: str) -> bytes:
    return _field(tag, text.encode())


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def snappy(body: bytes) -> bytes:
    """Frame bytes as a snappy block of literals."""
    parts = [_varint(len(body))]
    for at in range(0, len(body), 65536):
        piece = body[at : at + 65536]
        short = len(piece) <= 60
        parts += [bytes([len(piece) - 1 << 2]) if short else b"\xf4" + struct.pack("<H", len(piece) - 1), piece]
    return b"".join(parts)


def _post(session: requests.Session, url: str, body: bytes, timeout_seconds: float) -> None:
    try:
        answer = session.post(url, data=body, headers=_HEADERS, timeout=timeout_seconds)
    except requests.RequestException as err:
        raise SourceUnreachable(f"remote write to {url} failed: {err}", hint="Check address and port.") from err
    if answer.status_code in {401, 403}:
        raise SourceDenied(f"remote write to {url} was refused: HTTP {answer.status_code}", hint="Check credentials.")
    if answer.status_code // 100 != 2:
        raise SourceError(
            f"remote write to {url} got HTTP {answer.status_code}: {answer.text[:300]}",
            hint="Start Prometheus with --web.enable-remote-write-receiver; past data need an empty server.",
        )
