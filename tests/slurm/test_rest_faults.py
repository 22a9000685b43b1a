"""slurmrestd that is away, slow, cut, garbled or refuses: broken on the wire, with recorded good answers behind."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from data.errors import CannotKnow, SourceDenied, SourceError, SourceGarbled, SourceTimeout, SourceUnreachable
from data.slurm import rest_client, wire
from data.slurm.rest import RestSource
from settings import SlurmSettings
from tests.conftest import service_missing
from tests.services.fault_proxy import FaultProxy
from tests.services.recorded_slurmrestd import RecordedSlurmrestd

VERSION = "v0.0.44"
LIMIT_SECONDS = 1.0


@pytest.fixture
def recorded(reference: Path) -> Iterator[RecordedSlurmrestd]:
    with RecordedSlurmrestd(reference / "data" / "slurmrestd" / "25.11" / "0.0.44") as server:
        yield server


@pytest.fixture
def proxy(recorded: RecordedSlurmrestd) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", recorded.port) as between:
        yield between


def source(url: str, **changes: object) -> RestSource:
    values = {"kind": "rest", "url": url, "api_version": VERSION, "timeout_seconds": LIMIT_SECONDS}
    return RestSource(SlurmSettings.model_validate(values | changes))


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("refuse", SourceUnreachable),
        ("cut", SourceUnreachable),
        ("garbage", SourceGarbled),
        ("noise", SourceGarbled),
        ("half", SourceGarbled),
        ("500", SourceError),
        ("delay", SourceTimeout),
        ("drip", SourceTimeout),
    ],
)
def test_each_fault_has_its_error_in_time_and_the_next_answer_is_good(
    proxy: FaultProxy, mode: str, error: type[SourceError]
) -> None:
    slurm = source(proxy.url)
    proxy.delay_seconds = 30.0
    proxy.mode = mode
    started = time.monotonic()
    with pytest.raises(error):
        slurm.nodes()
    assert time.monotonic() - started < LIMIT_SECONDS + 10
    proxy.mode = "pass"
    assert len(slurm.nodes().rows) == 8


def test_a_head_that_drips_ends_at_the_time_limit_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_drip_a_head, args=(listener,), daemon=True).start()
        started = time.monotonic()
        with pytest.raises(SourceTimeout):
            source(f"http://127.0.0.1:{listener.getsockname()[1]}").nodes()
        assert time.monotonic() - started < LIMIT_SECONDS + 10


def _drip_a_head(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        try:
            for _ in range(2000):
                connection.sendall(b"H")
                time.sleep(0.05)
        except OSError:
            return


def test_requests_are_counted_also_when_they_fail(proxy: FaultProxy) -> None:
    slurm = source(proxy.url)
    proxy.mode = "500"
    with pytest.raises(SourceError):
        slurm.nodes()
    proxy.mode = "pass"
    slurm.nodes(), slurm.jobs()
    assert slurm.requests == proxy.requests == 3


def test_the_live_picture_costs_two_requests(proxy: FaultProxy) -> None:
    slurm = source(proxy.url, api_version="")
    slurm.nodes(), slurm.jobs()
    assert proxy.requests <= 4
    proxy.reset_counts()
    slurm.nodes(), slurm.jobs()
    assert proxy.requests == 2


def test_no_proxy_of_the_environment_gets_in_between(
    recorded: RecordedSlurmrestd, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert source(recorded.url).nodes().rows


def test_an_answer_without_end_is_cut_off_at_the_size_limit(
    recorded: RecordedSlurmrestd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "ANSWER_LIMIT_BYTES", 1000)
    with pytest.raises(SourceGarbled, match="larger"):
        source(recorded.url).nodes()


def test_a_past_moment_is_refused(recorded: RecordedSlurmrestd) -> None:
    slurm = source(recorded.url)
    for read in (slurm.nodes, slurm.jobs):
        with pytest.raises(CannotKnow):
            read(at=datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_denied_with_a_hint(recorded: RecordedSlurmrestd, status: int) -> None:
    recorded.answer = lambda path: (status, "text/plain", b"Authentication failure")  # type: ignore[method-assign]
    with pytest.raises(SourceDenied) as caught:
        source(recorded.url, token="aaa.bbb.ccc").nodes()
    assert "token" in caught.value.hint and "aaa.bbb.ccc" not in str(caught.value)


def unexplained(slurmdbd: bytes) -> Callable[[str], tuple[int, str, bytes]]:
    """What slurmrestd 22.05 answers of a bad token and of a slurmctld that is away, with slurmdbd's own answer."""
    nothing = (
        b'{"errors": [{"description": "Unable to find JobId=1", "error_number": -1, "error": "Unspecified error"}]}'
    )
    return lambda path: (200, "application/json", slurmdbd) if "slurmdb" in path else (500, "application/json", nothing)


@pytest.mark.parametrize(
    ("slurmdbd", "error"),
    [
        (b'{"errors": [], "TRES": [], "jobs": []}', SourceUnreachable),
        (b'{"errors": [{"error_number": 7000, "error": "Unable to connect to database"}]}', SourceUnreachable),
        (b'{"errors": [{"error_number": 1007, "error": "Protocol authentication error"}]}', SourceDenied),
    ],
)
def test_slurmdbd_tells_a_bad_token_from_a_controller_that_is_away(
    recorded: RecordedSlurmrestd, monkeypatch: pytest.MonkeyPatch, slurmdbd: bytes, error: type[SourceError]
) -> None:
    monkeypatch.setattr(rest_client, "PATIENCE_SECONDS", 0.0)
    recorded.answer = unexplained(slurmdbd)  # type: ignore[method-assign]
    slurm = source(recorded.url, token="aaa.bbb.ccc")
    for read in (slurm.nodes, slurm.jobs, lambda: slurm.job("1")):
        with pytest.raises(error):
            read()


def test_what_slurmctld_refuses_at_once_is_denied(recorded: RecordedSlurmrestd) -> None:
    recorded.answer = unexplained(b'{"errors": [], "TRES": []}')  # type: ignore[method-assign]
    with pytest.raises(SourceDenied) as caught:
        source(recorded.url).nodes()
    assert "PrivateData" in caught.value.hint


def test_a_web_page_that_says_not_found_does_not_mean_that_the_job_is_not(recorded: RecordedSlurmrestd) -> None:
    recorded.answer = lambda path: (404, "text/html", b"<h1>404 Not Found</h1>")  # type: ignore[method-assign]
    with pytest.raises(SourceGarbled):
        source(recorded.url).job("1")


@pytest.mark.parametrize("status", [301, 302, 502, 503, 504])
def test_a_proxy_in_front_that_has_no_slurmrestd_is_named(recorded: RecordedSlurmrestd, status: int) -> None:
    recorded.answer = lambda path: (status, "text/html", b"<h1>Bad gateway</h1>")  # type: ignore[method-assign]
    with pytest.raises(SourceUnreachable, match=str(status)):
        source(recorded.url).nodes()


def test_an_error_without_a_list_is_never_an_empty_list(recorded: RecordedSlurmrestd) -> None:
    recorded.answer = lambda path: (500, "application/json", b"{}")  # type: ignore[method-assign]
    with pytest.raises(SourceGarbled):
        source(recorded.url).jobs()


def test_a_renewed_token_file_counts_at_once(recorded: RecordedSlurmrestd, tmp_path: Path) -> None:
    file = tmp_path / "token"
    slurm = source(recorded.url, token_file=file)
    with pytest.raises(SourceDenied, match="token_file"):
        slurm.nodes()
    for token in ("first.token.x", "SLURM_JWT=second.token.y\n"):
        file.write_text(token)
        slurm.nodes()
    sent = [headers["X-SLURM-USER-TOKEN"] for _, headers in recorded.seen]
    assert sent == ["first.token.x", "second.token.y"]


@pytest.mark.parametrize("content", ["", "two words", "a\r\nX-SLURM-USER-NAME: root", "\x00"])
def test_a_file_without_a_token_is_denied_before_anything_is_sent(
    recorded: RecordedSlurmrestd, tmp_path: Path, content: str
) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(SourceDenied):
        source(recorded.url, token_file=file).nodes()
    assert recorded.seen == []


def test_a_unix_socket_that_is_missing_or_dead_is_unreachable(tmp_path: Path) -> None:
    path = tmp_path / "restd.sock"
    with pytest.raises(SourceUnreachable, match=r"restd\.sock"):
        source(f"unix://{path}").nodes()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(SourceUnreachable):
        source(f"unix://{path}").nodes()


def test_health_of_a_dead_server_is_words_and_not_an_exception(proxy: FaultProxy) -> None:
    proxy.mode = "refuse"
    health = source(proxy.url).health()
    assert not health.reachable and health.error and health.hint


@pytest.fixture
def https(recorded: RecordedSlurmrestd, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The recorded server behind TLS with a certificate of its own: (url, CA file)."""
    if shutil.which("openssl") is None:
        service_missing("openssl makes the certificate")
    certificate, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True, env={"PATH": os.environ["PATH"]})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), recorded._handler())
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"https://localhost:{server.server_address[1]}", certificate
    server.shutdown()
    server.server_close()


def test_https_is_read_with_its_ca_and_refused_without(https: tuple[str, Path]) -> None:
    url, ca_file = https
    assert source(url, ca_file=ca_file, timeout_seconds=5).nodes().rows
    with pytest.raises(SourceUnreachable) as caught:
        source(url, timeout_seconds=5).nodes()
    assert "ca_file" in caught.value.hint
