"""A real Prometheus on a free loopback port, started once per run; tests write raw samples into it."""

from __future__ import annotations

import http.client
import shutil
import struct
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import cramjam
import pytest

from tests.conftest import service_missing
from tests.services.ports import free_port

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
"""The value that Prometheus writes when a series has ended."""

# Nothing is scraped: samples of the past can then be written in time order.
_CONFIG = """
global: {scrape_interval: 30s}
storage: {tsdb: {out_of_order_time_window: 3650d}}
"""

Sample = tuple[Mapping[str, str], Sequence[float], Sequence[float]]


class PrometheusServer:
    """One running server. Tests keep apart by a label of their own (see `write`)."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def write(self, series: Iterable[Sample], **more: str) -> None:
        """Write series: labels (with __name__), times in seconds, values; `more` labels go on every series."""
        parts, size = [], 0
        for labels, times, values in series:
            part = _time_series({**labels, **more}, times, values)
            parts.append(part)
            size += len(part)
            if size > 2_000_000:
                self._post(b"".join(parts))
                parts, size = [], 0
        if parts:
            self._post(b"".join(parts))

    def _post(self, body: bytes) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        packed = bytes(cramjam.snappy.compress_raw(body))
        headers = {
            "Content-Encoding": "snappy",
            "Content-Type": "application/x-protobuf",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        }
        connection.request("POST", "/api/v1/write", packed, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status // 100 == 2, f"remote write: {answer.status} {text[:300]!r}"


def metric(name: str, /, **labels: str) -> dict[str, str]:
    return {"__name__": name, **labels}


@pytest.fixture(scope="session")
def prometheus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    binary = shutil.which("prometheus")
    if binary is None:
        service_missing("prometheus is not installed (apt-get install prometheus)")
    folder = tmp_path_factory.mktemp("prometheus")
    port = free_port()
    (folder / "prometheus.yml").write_text(_CONFIG)
    process = _start(binary, folder, port)
    try:
        _wait_ready(port, process, folder)
        yield PrometheusServer(port)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _start(binary: str, folder: Path, port: int) -> subprocess.Popen[bytes]:
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [
                binary,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--storage.tsdb.retention.time=10y",
                "--web.enable-remote-write-receiver",
            ],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )


def _wait_ready(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/-/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.1)
    service_missing(f"prometheus did not get ready: {(folder / 'log').read_text()[-500:]}")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + _varint(len(content)) + content


def _time_series(labels: Mapping[str, str], times: Sequence[float], values: Sequence[float]) -> bytes:
    """One prompb.TimeSeries, with its length in front: labels (1), samples (2: double 1, int64 ms 2)."""
    body = bytearray()
    for name, value in sorted(labels.items()):
        body += _field(0x0A, _field(0x0A, name.encode()) + _field(0x12, value.encode()))
    for moment, value in zip(times, values, strict=True):
        body += _field(0x12, b"\x09" + struct.pack("<d", value) + b"\x10" + _varint(round(moment * 1000)))
    return _field(0x0A, bytes(body))
