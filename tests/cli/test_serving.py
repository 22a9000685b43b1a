"""The server as a real process: right from its first request, and believing nobody but the proxy."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from data.errors import SettingsError
from terminal.serving import require_free, url_of
from tests.services.ports import free_port
from tests.services.viewers import first_data

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
SECRET = "0123456789abcdef0123456789abcdef"


class OverSocket(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self.path))


@contextmanager
def started(*arguments: str, folder: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """The command, up to the line that says where it is; ended by TERM, and it must end well and soon."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FULLWARP_")}
    environment |= {"FULLWARP_CACHE__DIRECTORY": str(folder / "cache"), "FULLWARP_DEMO__HISTORY_DAYS": "0", **variables}
    process = subprocess.Popen(
        [FULLWARP, *arguments], cwd=folder, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert "Fullwarp is at" in first, first + process.stderr.read()
        yield process
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, "Traceback" in out + err) == (0, False), out + err
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=10)


def ask(
    connection: http.client.HTTPConnection, path: str = "/", body: object = None, **headers: str
) -> tuple[int, str]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is None:
        connection.request("GET", path, headers=sent)
    else:
        connection.request("POST", path, json.dumps(body), {**sent, "Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_32_first_requests_at_once_are_all_answered(tmp_path: Path) -> None:
    port = free_port()
    paths = ["/", "/_dash-layout", "/_dash-dependencies", "/_dash-update-component"]

    def first(number: int) -> tuple[int, str]:
        path = paths[number % 4]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        return ask(connection, path, first_data("/") if path == paths[3] else None)

    with started("demo", "--bind", f"127.0.0.1:{port}", folder=tmp_path):
        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(first, range(32)))
        assert [status for status, _ in answers] == [200] * 32
        overviews = [text for status, text in answers[3::4]]
        assert [text[:200] for text in overviews if "GPU" not in text] == []


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("serve")
    bind = folder / "fullwarp.sock"
    (folder / "secret").write_text(SECRET)
    (folder / "fullwarp.toml").write_text(
        f"""
        [slurm]
        kind = "simulated"
        [metrics]
        kind = "simulated"
        [identity]
        kind = "header"
        secret_file = "{folder / "secret"}"
        staff_users = ["root"]
        [serve]
        bind = "unix:{bind}"
        socket_mode = "600"
        """
    )
    with started("serve", folder=folder):
        yield bind


def test_the_socket_has_its_mode(behind_proxy: Path) -> None:
    assert stat.S_IMODE(behind_proxy.stat().st_mode) == 0o600


def test_the_proxy_is_believed_and_health_is_open(behind_proxy: Path) -> None:
    assert ask(OverSocket(behind_proxy), "/healthz") == (200, "ok")
    assert ask(OverSocket(behind_proxy), X_Remote_User="alice", X_Fullwarp_Secret=SECRET)[0] == 200
    assert "alice" in ask(OverSocket(behind_proxy), "/_dash-layout", X_Remote_User="alice", X_Fullwarp_Secret=SECRET)[1]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["X-Remote-User: root"],
        ["X-Remote-User: root", "X-Fullwarp-Secret: guess"],
        ["X_Remote_User: root", f"X-Fullwarp-Secret: {SECRET}"],
        ["X-Remote-User: root", f"X_Fullwarp_Secret: {SECRET}"],
        ["X-Remote-User: alice", "X-Remote-User: root", f"X-Fullwarp-Secret: {SECRET}"],
        ["X-Remote-User: alice", "X-Fullwarp-Secret: guess", f"X-Fullwarp-Secret: {SECRET}"],
        ["X-Remote-User:", f"X-Fullwarp-Secret: {SECRET}"],
        [f"X-Remote-User: {'a' * 5_000}", f"X-Fullwarp-Secret: {SECRET}"],
        ["X-Remote-User: ro ot", f"X-Fullwarp-Secret: {SECRET}"],
    ],
)
def test_nobody_else_is_believed_on_the_wire(behind_proxy: Path, lines: list[str]) -> None:
    request = "\r\n".join(["GET /_dash-layout HTTP/1.1", "Host: x", "Connection: close", *lines, "", ""])
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(30)
        wire.connect(str(behind_proxy))
        wire.sendall(request.encode())
        answer = wire.makefile("rb").read().decode(errors="replace")
    assert answer.split()[1] in {"400", "401"}
    assert SECRET not in answer


def test_a_second_server_does_not_take_the_socket(behind_proxy: Path) -> None:
    with pytest.raises(SettingsError, match="another server answers there"):
        require_free(f"unix:{behind_proxy}")


def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [FULLWARP, "demo", "--bind", bind], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot listen at {bind}: Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["unix", "demo"])
def test_serve_refuses_an_identity_that_is_not_of_the_web(tmp_path: Path, kind: str) -> None:
    (tmp_path / "fullwarp.toml").write_text(f"[slurm]\nkind = 'simulated'\n[identity]\nkind = '{kind}'\n")
    done = subprocess.run([FULLWARP, "serve"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "identity.kind" in done.stderr


def test_a_source_that_cannot_be_opened_ends_the_server_with_what_to_set(tmp_path: Path) -> None:
    """As in a container that was started without settings."""
    (tmp_path / "fullwarp.toml").write_text(f"[slurm]\nkind = 'simulated'\n[serve]\nbind = '127.0.0.1:{free_port()}'\n")
    done = subprocess.run([FULLWARP, "serve"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "fullwarp: metrics.url must be a URL" in done.stderr and "Set it under [metrics]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("what", ["no folder", "a file"])
def test_a_socket_path_that_cannot_be_is_named(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x" if what == "a file" else tmp_path / "absent" / "x"
    if what == "a file":
        path.write_text("")
    with pytest.raises(SettingsError, match=str(path)):
        require_free(f"unix:{path}")


def test_a_socket_that_nobody_listens_at_is_free(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "old"))
    require_free(f"unix:{tmp_path / 'old'}")


@pytest.mark.parametrize(
    ("bind", "prefix", "url"),
    [
        ("127.0.0.1:8050", "/", "http://127.0.0.1:8050/"),
        ("0.0.0.0:80", "/fullwarp/", "http://127.0.0.1:80/fullwarp/"),
        ("[::]:80", "/", "http://[::1]:80/"),
        ("unix:/run/f.sock", "/", "unix:/run/f.sock"),
    ],
)
def test_the_address_that_is_told_can_be_opened(bind: str, prefix: str, url: str) -> None:
    assert url_of(bind, prefix) == url
