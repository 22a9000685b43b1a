"""One HTTP request over TCP, TLS or a Unix socket, with limits on the whole exchange: time and size.

`http.client` as it is, because no proxy of the environment, redirect, retry or keep-alive may get in between.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from data.errors import SettingsError, SourceGarbled, SourceTimeout, SourceUnreachable

CHUNK_BYTES = 256 * 1024
ANSWER_LIMIT_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content_type: str
    body: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where slurmrestd listens: `socket_path`, or `host` and `port`. `prefix` is the path before /slurm."""

    address: str
    host: str = "localhost"
    port: int = 0
    prefix: str = ""
    socket_path: str = ""
    tls: ssl.SSLContext | None = None

    def get(self, path: str, headers: Mapping[str, str], timeout_seconds: float) -> Answer:
        """`asked` with GET."""
        return self.asked("GET", path, headers, timeout_seconds)

    def asked(
        self, method: str, path: str, headers: Mapping[str, str], timeout_seconds: float, body: bytes | None = None
    ) -> Answer:
        """Read one answer whole. Raises SourceUnreachable, SourceTimeout, SourceGarbled (cut or too large)."""
        started = time.monotonic()
        connection = _Connection(self, started + timeout_seconds)
        try:
            connection.request(method, self.prefix + path, body, dict(headers))
            response = connection.getresponse()
            content = _read_all(response)
            kind = response.headers.get("Content-Type", "")
            return Answer(response.status, kind, content, time.monotonic() - started)
        except TimeoutError as err:
            hint = "see whether slurmctld and slurmdbd answer, or raise slurm.timeout_seconds"
            raise SourceTimeout(f"no answer from {self.address} within {timeout_seconds:g} s", hint=hint) from err
        except ssl.SSLError as err:
            raise SourceUnreachable(f"{self.address}: {err.reason or err}", hint="set slurm.ca_file") from err
        except http.client.HTTPException as err:
            raise SourceGarbled(f"{self.address} broke off or did not speak HTTP: {err!r:.120}") from err
        except OSError as err:
            hint = "see whether slurmrestd runs there and slurm.url is right"
            raise SourceUnreachable(f"cannot reach {self.address}: {err.strerror or err}", hint=hint) from err
        finally:
            connection.end()


def endpoint(url: str, ca_file: Path | None) -> Endpoint:
    """Read slurm.url: http://host:6820, https://host/path or unix:///run/slurmrestd.sock."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return Endpoint(url, socket_path=unquote(parts.path))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(
            f"slurm.url = {url!r} must be http://host:6820, https://host or unix:///run/slurmrestd.sock",
            hint="ask where slurmrestd listens: systemctl status slurmrestd",
        )
    if parts.username or parts.password:
        raise SettingsError("slurm.url must not hold a user or password", hint="use slurm.user and slurm.token_file")
    tls = _tls(ca_file) if parts.scheme == "https" else None
    port = parts.port or (443 if tls else 80)
    return Endpoint(f"{parts.scheme}://{parts.netloc}", parts.hostname, port, parts.path.rstrip("/"), "", tls)


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError) as err:
        raise SettingsError(f"slurm.ca_file = {str(ca_file)!r} is no readable CA bundle: {err}") from err


def _read_all(response: http.client.HTTPResponse) -> bytes:
    body = bytearray()
    while chunk := response.read(CHUNK_BYTES):
        body += chunk
        if len(body) > ANSWER_LIMIT_BYTES:
            raise SourceGarbled(f"an answer larger than {ANSWER_LIMIT_BYTES // 2**20} MiB", hint="see slurm.url")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return bytes(body)


class _Connection(http.client.HTTPConnection):
    """A connection that ends at `deadline`, however the other side spreads its bytes."""

    def __init__(self, place: Endpoint, deadline: float) -> None:
        super().__init__(place.host, place.port)
        self._place = place
        self._deadline = deadline
        self._socket: socket.socket | None = None

    def connect(self) -> None:
        self._socket = self._connected()
        if self._place.tls is not None:
            self._socket.settimeout(_remaining(self._deadline))
            self._socket = self._place.tls.wrap_socket(self._socket, server_hostname=self._place.host)
        self._socket.settimeout(_remaining(self._deadline))
        self.sock = _DeadlineSocket(self._socket, self._deadline)

    def end(self) -> None:
        """Close for good; `close` is called by http.client while the answer is still to be read."""
        self.close()
        if self._socket is not None:
            self._socket.close()

    def _connected(self) -> socket.socket:
        if not self._place.socket_path:
            return socket.create_connection((self._place.host, self._place.port), _remaining(self._deadline))
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        plain.settimeout(_remaining(self._deadline))
        try:
            plain.connect(self._place.socket_path)
        except OSError:
            plain.close()
            raise
        return plain


class _DeadlineSocket:
    """What `http.client` needs of a socket; every read waits no longer than to the deadline."""

    def __init__(self, plain: socket.socket, deadline: float) -> None:
        self._plain = plain
        self._deadline = deadline

    def sendall(self, data: Any) -> None:
        self._plain.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_DeadlineReader(self._plain, self._deadline), CHUNK_BYTES)

    def close(self) -> None:
        """Nothing: the connection ends the socket when the answer was read."""


class _DeadlineReader(io.RawIOBase):
    def __init__(self, plain: socket.socket, deadline: float) -> None:
        self._plain = plain
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(_remaining(self._deadline))
        return self._plain.recv_into(buffer)


def _remaining(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the time limit has passed")
    return seconds
