"""Behind a real Apache with the shipped file and a real login: over the Unix socket with the user's name, over TCP with
the address of the mail."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.cli.test_serving import SECRET, started
from tests.services.apache import apache
from tests.services.ports import free_port
from tests.services.sign_in import provider, sign_in
from tests.services.viewers import Answer, ask, first_data

PREFIX = "/fullwarp/"
CLAIMS = {"socket": "preferred_username", "tcp": "email"}


@dataclass(frozen=True)
class Behind:
    port: int
    login: str
    claim: str
    token: str
    scrape: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PREFIX}"

    def signed_in(self, name: str) -> requests.Session:
        session = requests.Session()
        assert sign_in(session, self.url, name).status_code == 200
        return session

    def ask(self, path: str, **headers: str) -> Answer:
        return ask(self.port, PREFIX + path, **headers)


@pytest.fixture(scope="module", params=CLAIMS)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("apache")
    claim = CLAIMS[request.param]
    with ExitStack() as stack:
        bind = f"unix:{folder}/fullwarp.sock" if request.param == "socket" else f"127.0.0.1:{free_port()}"
        config = folder / "serve.toml"
        config.write_text(settings(folder, bind, "site.edu" if claim == "email" else ""))
        user, scrape = token(config, "user"), token(config, "scrape")
        login, port = stack.enter_context(provider()), free_port()
        stack.enter_context(apache(folder, port, PREFIX, bind, login, SECRET, claim))
        found = Behind(port, login, claim, user, scrape)
        assert found.ask("healthz").status == 503  # what follows shows that Apache asks again soon
        stack.enter_context(started("--config", str(config), "serve", folder=folder))
        yield found


@pytest.fixture(scope="module")
def alice(site: Behind) -> str:
    """The header of her open session."""
    return cookie_of(site.signed_in("alice"))


def cookie_of(session: requests.Session) -> str:
    return "; ".join(f"{name}={value}" for name, value in session.cookies.items())


def settings(folder: Path, bind: str, domain: str) -> str:
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
user_domain = "{domain}"
group_header = "X-Remote-Groups"
staff_groups = ["hpc-staff"]
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


def test_who_opens_a_page_signs_in_and_comes_back_to_it(site: Behind) -> None:
    session = requests.Session()
    page = sign_in(session, f"{site.url}me?since=2026-01-01&group=user", "alice")
    assert page.url == f"{site.url}me?since=2026-01-01&group=user" and "<title>" in page.text
    assert "Signed in as alice, user" in session.get(f"{site.url}_dash-layout", timeout=30).text
    own = session.post(f"{site.url}_dash-update-component", json=first_data(f"{PREFIX}me"), timeout=30)
    assert own.status_code == 200 and "alice" in own.text


def test_a_group_of_the_login_makes_staff(site: Behind) -> None:
    assert "Signed in as sam, staff" in site.signed_in("sam").get(f"{site.url}_dash-layout", timeout=30).text


def test_a_session_that_ended_leads_to_the_login_and_what_an_open_page_asks_is_told_401(site: Behind) -> None:
    session = site.signed_in("alice")
    ended = {"Cookie": cookie_of(session)}
    assert site.ask("_dash-layout", **ended).status == 200
    left = session.get(f"{site.url}signed-in?logout={quote(site.url + 'healthz')}", allow_redirects=False, timeout=30)
    assert left.headers["Location"].startswith(f"{site.login}/oauth2/end_session")
    assert not session.cookies

    page = site.ask("jobs", Accept="text/html", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document", **ended)
    assert (page.status, page.headers["location"].startswith(f"{site.login}/oauth2/authorize")) == (302, True)
    for path in ("_dash-update-component", "_chat/ask", "_search?q=x", "_gpu-line"):
        assert site.ask(path, Sec_Fetch_Mode="cors", Sec_Fetch_Dest="empty", **ended).status == 401


@pytest.mark.parametrize(
    "lines",
    [
        ["X-Remote-User: sam"],
        ["X-Remote-User: sam", "X-Remote-User: root"],
        ["X_Remote_User: sam"],
        ["X-Remote-User: sam", "Connection: X-Remote-User"],
        ["X-Remote-Groups: hpc-staff", "X_Remote_Groups: hpc-staff", "Connection: X-Remote-Groups"],
        ["OIDC_CLAIM_preferred_username: sam", "OIDC_CLAIM_email: sam@site.edu", "OIDC_CLAIM_groups: hpc-staff"],
        ["OIDC-CLAIM-groups: hpc-staff", "OIDC-CLAIM-preferred-username: sam", "REMOTE_USER: sam"],
        ["Connection: X-Remote-User, X-Fullwarp-Secret, X-Forwarded-For"],
    ],
)
def test_no_header_of_a_client_names_anybody(site: Behind, alice: str, lines: list[str]) -> None:
    found = raw(site, "_dash-layout", [f"Cookie: {alice}", *lines])
    assert "Signed in as alice, user" in found or found.startswith(("HTTP/1.1 400", "HTTP/1.1 401"))
    assert "Signed in as sam" not in found and "Signed in as root" not in found and ", staff" not in found
    assert raw(site, "_dash-layout", lines).startswith(("HTTP/1.1 302", "HTTP/1.1 401", "HTTP/1.1 400"))


def raw(site: Behind, path: str, lines: list[str]) -> str:
    """As written, without what a client's library would mend."""
    text = "\r\n".join([f"GET {PREFIX}{path} HTTP/1.1", "Host: x", "Connection: close", *lines, "", ""])
    with socket.create_connection(("127.0.0.1", site.port), 20) as connection:
        connection.sendall(text.encode())
        return connection.makefile("rb").read().decode(errors="replace")


@pytest.mark.parametrize("path", ["api/v1/status", "api/v1/self/metrics", "api/chat/conversations", "%61pi/v1/status"])
def test_without_a_token_the_api_answers_nobody(site: Behind, path: str) -> None:
    """Apache lets everybody pass there: neither a name, nor its own address, nor the secret that it adds may count."""
    for lines in ([], ["X-Remote-User: sam"], ["X_Remote_User: sam"], ["Connection: X-Forwarded-For"]):
        assert raw(site, path, lines).startswith("HTTP/1.1 401"), lines


def test_a_token_is_enough_for_the_api_and_the_health_word_needs_none(site: Behind) -> None:
    headers = {"Authorization": f"Bearer {site.token}", "X-Remote-User": "root"}
    assert [site.ask(path, **headers).status for path in ("api/v1/status", "api/chat/conversations")] == [200, 200]
    assert site.ask(f"api/v1/status?token={site.token}").status == 401
    assert site.ask("_dash-layout", Sec_Fetch_Mode="cors", **headers).status == 401
    assert "fullwarp_" in site.ask("api/v1/self/metrics", Authorization=f"Bearer {site.scrape}").text
    assert site.ask("healthz").text == "ok"
    assert site.ask("healthz/../_dash-layout").status in (302, 401)


def test_the_command_line_asks_past_the_login_with_its_token(site: Behind, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(site.token)
    command = [sys.executable, "-m", "cli", "efficiency", "--server", site.url, "--token-file", str(tmp_path / "token")]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_mail_address_of_another_domain_is_nobody(site: Behind) -> None:
    page = sign_in(requests.Session(), site.url, "mallory")
    assert page.status_code == (401 if site.claim == "email" else 200)
