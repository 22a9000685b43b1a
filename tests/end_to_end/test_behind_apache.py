"""Behind a real Apache with the sections of the how-to: names in a header, over the Unix socket and over TCP."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.test_serving import SECRET, started
from tests.conftest import service_missing
from tests.services.ports import free_port
from tests.services.viewers import Answer, ask, basic, first_data

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-behind-a-proxy.md"
PREFIX = "/fullwarp/"
BELOW = first_data(PREFIX)
MODULES = "mpm_event authn_core authn_file authz_core authz_user auth_basic proxy proxy_http headers"
FRAME = """
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/httpd.pid
ErrorLog {folder}/apache.log
DefaultRuntimeDir {folder}
Mutex file:{folder}
{modules}
{site}
"""
LOGIN = """AuthType Basic
    AuthName site
    AuthBasicProvider file
    AuthUserFile {folder}/people"""


@dataclass(frozen=True)
class Behind:
    port: int
    token: str
    scrape: str

    def ask(self, path: str, user: str = "", body: object = None, **headers: str) -> Answer:
        signed_in = {"Authorization": basic(user)} if user else {}
        return ask(self.port, PREFIX + path, body, **(signed_in | headers))


@pytest.fixture(scope="module", params=["socket", "tcp"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    if not Path("/usr/sbin/apache2").exists():
        service_missing("apache2 is not installed")
    folder = tmp_path_factory.mktemp("apache")
    with ExitStack() as stack:
        bind = f"unix:{folder}/fullwarp.sock" if request.param == "socket" else f"127.0.0.1:{free_port()}"
        config = folder / "serve.toml"
        config.write_text(settings(folder, bind))
        user, scrape = token(config, "user"), token(config, "scrape")
        stack.enter_context(started("--config", str(config), "serve", folder=folder))
        port = free_port()
        stack.callback(apache(folder, port, bind).terminate)
        yield Behind(port, user, scrape)


def settings(folder: Path, bind: str) -> str:
    """As the how-to has it; the addresses of those who watch hold Apache's own, which must not matter."""
    (folder / "proxy-secret").write_text(f"{SECRET}\n")
    (folder / "proxy-secret").chmod(0o600)
    return f"""
[slurm]
kind = "simulated"
[metrics]
kind = "simulated"
[identity]
secret_file = "{folder}/proxy-secret"
staff_users = ["sam"]
[serve]
bind = "{bind}"
url_prefix = "{PREFIX}"
workers = 1
[exposure]
scrape_addresses = ["127.0.0.0/8"]
[state]
directory = "{folder}/state"
"""


def token(config: Path, role: str) -> str:
    command = [sys.executable, "-m", "cli", "--config", str(config), "token", "create", "--user", "sam", "--role", role]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def sections(folder: Path, bind: str) -> str:
    """The how-to's, with this machine's names and passwords for the sign-in."""
    (text,) = re.findall(r"```apache\n(.*?)```", HOW_TO.read_text(), re.S)
    place = f"unix:{bind.removeprefix('unix:')}|http://fullwarp/" if bind.startswith("unix:") else f"http://{bind}/"
    for pattern, wanted in (
        (r"(?m)^OIDC.*\n", ""),
        (r"AuthType openid-connect", LOGIN.format(folder=folder)),
        (r"unix:/run/fullwarp/fullwarp\.sock\|http://fullwarp/", place),
        (r"the secret", SECRET),
    ):
        text, found = re.subn(pattern, lambda _, wanted=wanted: wanted, text)  # type: ignore[misc]
        assert found, f"the how-to has no {pattern}"
    return str(text)


def apache(folder: Path, port: int, bind: str) -> subprocess.Popen[bytes]:
    words = ["openssl", "passwd", "-apr1", "-stdin"]
    (folder / "people").write_text("".join(f"{name}:{hashed(words, name)}\n" for name in ("alice", "sam")))
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in MODULES.split())
    text = FRAME.format(folder=folder, port=port, modules=modules, site=sections(folder, bind))
    (folder / "httpd.conf").write_text(text)
    process = subprocess.Popen(["/usr/sbin/apache2", "-f", folder / "httpd.conf", "-DFOREGROUND"])
    until = time.monotonic() + 15
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    raise AssertionError((folder / "apache.log").read_text())


def hashed(words: list[str], name: str) -> str:
    return subprocess.run(words, input=name, capture_output=True, text=True, check=True).stdout.strip()


def test_apache_names_who_signed_in_and_nobody_else(site: Behind) -> None:
    assert "Signed in as alice, user" in site.ask("_dash-layout", "alice").text
    assert "Signed in as sam, staff" in site.ask("_dash-layout", "sam").text
    assert site.ask("_dash-layout").status == 401
    assert site.ask("_dash-update-component", "alice", BELOW).status == 200
    assert site.ask("healthz", "alice").text == "ok"


@pytest.mark.parametrize(
    "lines",
    [
        ["X-Remote-User: sam"],
        ["X-Remote-User: sam", "X-Remote-User: root"],
        ["X_Remote_User: sam"],
        ["X-Remote-User: sam", "Connection: X-Remote-User"],
        ["Connection: X-Remote-User, X-Fullwarp-Secret, X-Forwarded-For"],
    ],
)
def test_no_header_of_a_client_names_anybody(site: Behind, lines: list[str]) -> None:
    found = raw(site, "GET", "_dash-layout", [f"Authorization: {basic('alice')}", *lines])
    assert "Signed in as alice, user" in found or found.startswith(("HTTP/1.1 400", "HTTP/1.1 401"))
    assert "Signed in as sam" not in found and "Signed in as root" not in found


def raw(site: Behind, method: str, path: str, lines: list[str]) -> str:
    """As written, without what a client's library would mend."""
    text = "\r\n".join([f"{method} {PREFIX}{path} HTTP/1.1", "Host: x", "Connection: close", *lines, "", ""])
    with socket.create_connection(("127.0.0.1", site.port), 20) as connection:
        connection.sendall(text.encode())
        return connection.makefile("rb").read().decode(errors="replace")


@pytest.mark.parametrize("path", ["api/v1/status", "api/v1/self/metrics", "api/chat/status", "%61pi/v1/status"])
def test_without_a_token_the_api_answers_nobody(site: Behind, path: str) -> None:
    """Apache lets everybody pass there: neither a name, nor its own address, nor the secret that it adds may count."""
    for lines in ([], ["X-Remote-User: sam"], ["X_Remote_User: sam"], ["Connection: X-Forwarded-For"]):
        assert raw(site, "GET", path, lines).startswith("HTTP/1.1 401"), lines


def test_a_token_is_enough_for_the_api(site: Behind) -> None:
    headers = {"Authorization": f"Bearer {site.token}", "X-Remote-User": "root"}
    assert site.ask("api/v1/status", **headers).status == 200
    assert site.ask(f"api/v1/status?token={site.token}").status == 401
    assert site.ask("_dash-layout", **headers).status == 401
    assert "fullwarp_" in site.ask("api/v1/self/metrics", Authorization=f"Bearer {site.scrape}").text
