"""A whole site as people meet it: behind nginx with a login, at a sub-path, with Redis and PostgreSQL (whole_site)."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup

from tests.services.viewers import basic
from tests.services.whole_site import PREFIX, SECRET, Server, WholeSite, serving, told_secrets, wait_until_told

HOSTILE = "\n".join(
    ["GET /tools/fullwarp/_dash-layout HTTP/1.1", "Host: x", "Connection: close", "{lines}", "", ""]
).replace("\n", "\r\n")


@pytest.fixture(scope="module")
def second(whole_site: WholeSite) -> Iterator[Server]:
    """Another server of the same site, over TCP with the secret."""
    given = {
        "FULLWARP_SERVE__BIND": f"127.0.0.1:{whole_site.tcp_port}",
        "FULLWARP_IDENTITY__SECRET": SECRET,
        "FULLWARP_IDENTITY__PROXY_ADDRESSES": "127.0.0.1",
        "FULLWARP_EXPOSURE__SCRAPE_ADDRESSES": "127.0.0.7",
    }
    with serving(whole_site, "second", **given) as made:
        yield made


def values(text: str) -> dict[str, float]:
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def lines_of(server: Server) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]


def test_a_page_and_all_that_it_loads_come_through_the_sub_path(whole_site: WholeSite) -> None:
    page = whole_site.ask("", "alice")
    found = BeautifulSoup(page.text, "lxml").select("script[src], link[href]")
    own = [one for tag in found if not (one := str(tag.get("src") or tag.get("href"))).startswith("data:")]
    assert len(own) > 3 and all(address.startswith(PREFIX) for address in own)
    assert {whole_site.ask(address.removeprefix(PREFIX), "alice").status for address in own} == {200}
    assert "Signed in as alice, user" in whole_site.ask("_dash-layout", "alice").text
    assert "Signed in as sam, staff" in whole_site.ask("_dash-layout", "sam").text
    assert whole_site.ask("_dash-layout", Authorization="").status == 401


def test_the_id_of_a_request_and_its_viewer_are_in_the_log(whole_site: WholeSite) -> None:
    sent = whole_site.ask("jobs?user=secretive", "alice").headers["x-request-id"]
    found = [line for line in lines_of(whole_site.server) if line.get("request") == sent]
    assert [(line["viewer"], line["path"]) for line in found] == [("alice", f"{PREFIX}jobs")]


def test_two_workers_are_counted_as_one_server(whole_site: WholeSite) -> None:
    name = 'fullwarp_http_requests_total{route="data",status="200"}'
    before = values(whole_site.by_token("api/v1/self/metrics", "scrape").text).get(name, 0)
    for _ in range(40):
        assert whole_site.ask("_search?q=n0001").status == 200
    found = values(whole_site.by_token("api/v1/self/metrics", "scrape").text)
    assert found[name] - before == 40
    assert len([one for one in found if one.startswith("fullwarp_worker_resident_bytes")]) == 2


def test_tokens_are_kept_in_the_database(whole_site: WholeSite) -> None:
    roles = ("user", "staff", "scrape")
    assert [whole_site.by_token("api/v1/status", role).status for role in roles] == [200, 200, 401]
    assert whole_site.by_token("readyz", "scrape").status == 401  # the proxy's login takes the place of the token there


def straight(site: WholeSite, path: str, **headers: str) -> str:
    """Past the proxy, from an address that may watch."""
    connection = http.client.HTTPConnection("127.0.0.1", site.tcp_port, source_address=("127.0.0.7", 0))
    connection.request("GET", PREFIX + path, headers=headers)
    return connection.getresponse().read().decode()


def test_two_servers_share_one_picture(whole_site: WholeSite, second: Server) -> None:
    def moments() -> set[str]:
        token = f"Bearer {whole_site.tokens['staff']}"
        other = json.loads(straight(whole_site, "api/v1/status", Authorization=token))
        return {other["time"], whole_site.by_token("api/v1/status").json["time"]}

    assert any(len(moments()) == 1 for _ in range(5))  # a new one may come in between
    assert straight(whole_site, "readyz") == "ready"
    assert values(straight(whole_site, "api/v1/self/metrics"))["fullwarp_snapshot_age_seconds"] >= 0


@pytest.mark.parametrize(
    "lines",
    [
        ["X-Remote-User: root"],
        ["X-Remote-User: root", "X-Remote-User: sam"],
        ["X_Remote_User: root"],
        ["X-Remote-User : root"],
        ["X-Remote-Groups: hpc-staff"],
        ["X-Remote-Groups: hpc-staff", "X_Remote_Groups: hpc-staff"],
        ["x-remote-user: root", f"X-Fullwarp-Secret: {SECRET}", "X-Forwarded-For: 127.0.0.1"],
    ],
)
def test_through_the_proxy_nobody_is_anybody_else(whole_site: WholeSite, lines: list[str]) -> None:
    connection = socket.create_connection(("127.0.0.1", whole_site.port), 20)
    answer = wire(connection, [f"Authorization: {basic('alice')}", *lines])
    assert answer.startswith("HTTP/1.1 400") or "Signed in as alice, user" in answer
    assert "Signed in as root" not in answer and "Signed in as sam" not in answer


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("127.0.0.1", ["X-Remote-User: sam"]),
        ("127.0.0.1", ["X-Remote-User: sam", "X-Fullwarp-Secret: guess"]),
        ("127.0.0.9", ["X-Remote-User: sam", f"X-Fullwarp-Secret: {SECRET}"]),
        ("127.0.0.9", ["X-Remote-User: sam", f"X-Fullwarp-Secret: {SECRET}", "X-Forwarded-For: 127.0.0.1"]),
        ("127.0.0.1", ["X-Remote-User: alice", "X-Remote-User: sam", f"X-Fullwarp-Secret: {SECRET}"]),
        ("127.0.0.1", ["X_Remote_User: sam", f"X-Fullwarp-Secret: {SECRET}"]),
        ("127.0.0.1", ["X-Remote-User: sam", f"X_Fullwarp_Secret: {SECRET}"]),
        ("127.0.0.7", ["X-Remote-User: sam"]),
    ],
)
def test_past_the_proxy_nobody_is_believed_and_it_is_logged(
    whole_site: WholeSite, second: Server, source: str, lines: list[str]
) -> None:
    before = len(lines_of(second))
    answer = wire(socket.create_connection(("127.0.0.1", whole_site.tcp_port), 20, (source, 0)), lines)
    assert answer.startswith("HTTP/1.1 401"), answer[:200]
    told = [str(line["message"]) for line in lines_of(second)[before:]]
    assert any(message.startswith("401 ") for message in told), told


def test_past_the_proxy_the_right_secret_and_address_are(whole_site: WholeSite, second: Server) -> None:
    right = ["X-Remote-User: alice", f"X-Fullwarp-Secret: {SECRET}"]
    answer = wire(socket.create_connection(("127.0.0.1", whole_site.tcp_port), 20), right)
    assert "Signed in as alice, user" in answer


def wire(connection: socket.socket, lines: list[str]) -> str:
    with connection:
        connection.sendall(HOSTILE.format(lines="\r\n".join(lines)).encode())
        return connection.makefile("rb").read().decode(errors="replace")


def test_a_header_cannot_be_smuggled_in(whole_site: WholeSite) -> None:
    for path in ("jobs?q=x%0d%0aSet-Cookie:%20a=1", "x%0d%0aSet-Cookie:%20a=1", "%2e%2e/%2e%2e/etc/passwd"):
        answer = whole_site.ask(path, "alice")
        assert answer.status in (200, 400, 404) and "set-cookie" not in answer.headers


def test_no_viewer_meets_an_error_while_servers_are_replaced(whole_site: WholeSite, second: Server) -> None:
    """HUP: new workers. USR2: a new program beside the old one, which then ends. TERM: one of two servers goes and
    comes."""
    first = whole_site.server
    with whole_site.viewers(pause=0.1) as viewers:
        viewers.rounds(20)
        old = first.workers()
        first.process.send_signal(signal.SIGHUP)
        viewers.until(lambda: not set(old) & set(first.workers()) and len(first.workers()) == 2)
        viewers.rounds(20)

        told = first.log.read_text().count("Fullwarp is at")
        first.process.send_signal(signal.SIGUSR2)
        wait_until_told(first, told + 1)
        viewers.rounds(20)
        newer = first.successor()
        first.stop()
        first.process = newer
        viewers.rounds(20)

        second.stop()
        viewers.rounds(40)
    assert set(viewers.statuses) == {200}, viewers.statuses
    assert viewers.complaints == []


def test_no_log_holds_a_secret(whole_site: WholeSite) -> None:
    """Over all that these tests did to the servers, refused ones included; the fixture looks again at the very end."""
    written = whole_site.server.log.read_text() + (whole_site.folder / "second.log").read_text()
    assert "401 " in written and re.search(r'"status":200', written)
    assert told_secrets(whole_site) == []
