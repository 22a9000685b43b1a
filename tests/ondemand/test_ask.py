"""The assistant in the app: what goes on to the server, what does not, and where its links lead."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient

from data.errors import SettingsError
from data.model import Role, Viewer
from data.queries.jobs import jobs
from ondemand.ask import MOST_BYTES, Places, at_home
from ondemand.central import Central
from ondemand.direct import Direct
from ondemand.files import Files
from ondemand.keeping import Keeper
from ondemand.options import Mode, Options
from ondemand.web import Opened, make_app
from settings import SlurmKind, SlurmSettings
from terminal.remote import MOST_PASSED
from tests.services.passenger import DIRECT, Site

OURS = {"X-Requested-With": "fullwarp"}
SPOOFED = {
    "Cookie": "session=1",
    "Authorization": "Basic c2FtOnNhbQ==",
    "X-Remote-User": "sam",
    "X-Fullwarp-Secret": "x",
    "X-Forwarded-Host": "evil.example.org",
    "X-Forwarded-User": "sam",
    "Forwarded": "host=evil.example.org",
}
TOKEN = "fullwarp_000000000000_" + "t" * 43


class Upstream(http.server.BaseHTTPRequestHandler):
    """A server that does as it is told, and notes what came."""

    seen: ClassVar[list[tuple[str, str, dict[str, str], bytes]]] = []
    answers: ClassVar[dict[str, Any]] = {}

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen.append((self.command, self.path, dict(self.headers), body))
        status, headers, sent = self.answers.get("next", (200, {}, b'{"ok": true}'))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)
        with suppress(OSError):
            while self.answers.get("drips"):
                self.wfile.write(b" ")
                time.sleep(0.02)

    do_GET = do_POST = _answer  # the names that the base class looks for

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def upstream() -> Iterator[str]:
    Upstream.seen, Upstream.answers = [], {}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/warp"
    Upstream.answers = {}
    server.shutdown()


def app_of(options: Options, tmp_path: Path) -> Flask:
    (tmp_path / "alice").write_text(TOKEN)
    return make_app(lambda: Opened(options, Central(options, "alice", Keeper(None))), Files("s", "j", "t", "a"))


@pytest.fixture
def client(upstream: str, tmp_path: Path) -> FlaskClient:
    return app_of(Options(server=upstream, token_folder=tmp_path), tmp_path).test_client()


def test_the_token_goes_on_and_nothing_else_that_was_sent(client: FlaskClient, upstream: str) -> None:
    client.get("/_chat/events?turn=abc&seen=2&user=sam", headers=SPOOFED)
    client.post("/_chat/ask", json={"question": "x"}, headers={**SPOOFED, **OURS})
    (method, path, first, _), (_, second_path, second, body) = Upstream.seen
    assert (method, path, second_path) == ("GET", "/warp/api/chat/events?turn=abc&seen=2", "/warp/api/chat/ask")
    assert json.loads(body) == {"question": "x"}
    for sent in (first, second):
        assert sent["Authorization"] == f"Bearer {TOKEN}" and sent["Host"] == upstream.split("/")[2]
        assert set(sent) <= {
            *("Authorization", "Host", "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type"),
            *("User-Agent", "X-Requested-With"),
        }


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "ask"), ("POST", "events"), ("GET", "stop"), ("DELETE", "forget"), ("GET", "judge"), ("GET", "status"),
     ("GET", "../v1/status"), ("POST", "ask/x"), ("GET", "%2e%2e/v1/jobs"), ("POST", "panel")],
)  # fmt: skip
def test_no_other_route_or_method_goes_on(client: FlaskClient, method: str, path: str) -> None:
    assert client.open(f"/_chat/{path}", method=method, json={}, headers=OURS).status_code in (404, 405)
    assert Upstream.seen == []


@pytest.mark.parametrize(
    "headers", [{}, {"X-Requested-With": "x"}, {**OURS, "Sec-Fetch-Site": "cross-site"},
                {**OURS, "Sec-Fetch-Site": "same-site"}, {**OURS, "Content-Type": "text/plain"}]
)  # fmt: skip
def test_a_page_of_another_site_cannot_send_anything(client: FlaskClient, headers: dict[str, str]) -> None:
    sent = client.post("/_chat/ask", data="{}", headers={"Content-Type": "application/json", **headers})
    assert sent.status_code == 403 and Upstream.seen == []


@pytest.mark.parametrize(("body", "status"), [("{", 400), ("[]", 400), ('"x"', 400), ("x" * (MOST_BYTES + 1), 413)])
def test_what_is_no_object_or_too_large_stays_here(client: FlaskClient, body: str, status: int) -> None:
    sent = client.post("/_chat/ask", data=body, content_type="application/json", headers=OURS)
    assert sent.status_code == status and Upstream.seen == []
    assert client.get("/_chat/panel?path=" + "x" * 3000).status_code == 400 and Upstream.seen == []


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ((302, {"Location": "http://127.0.0.1:9/steal"}, b""), 503, "answered 302"),
        ((302, {"Location": "/warp/api/v1/status"}, b""), 503, "answered 302"),
        ((200, {}, b"<h1>Log in</h1>"), 503, "not as Fullwarp does"),
        ((200, {}, b"[]"), 503, "not as Fullwarp does"),
        ((401, {}, b'{"error": {"message": "No identity."}}'), 503, "refuses the token"),
        ((404, {}, b'{"error": {"code": "not_found", "message": "no such"}}'), 404, "no such"),
        ((429, {}, b'{"error": {"code": "limit", "message": "enough for today"}}'), 429, "enough for today"),
        ((200, {}, b'{"x": "' + b"y" * MOST_PASSED + b'"}'), 503, "more than"),
    ],
)
def test_what_the_server_should_not_say_is_one_line(
    client: FlaskClient, answer: tuple[int, dict[str, str], bytes], status: int, said: str
) -> None:
    Upstream.answers["next"] = answer
    found = client.get("/_chat/conversations")
    assert found.status_code == status and said in found.json["error"]["message"] and TOKEN not in found.text
    assert len(Upstream.seen) == 1


def test_a_server_that_goes_on_and_on_is_left(upstream: str, tmp_path: Path) -> None:
    options = Options(server=upstream, token_folder=tmp_path, timeout_seconds=0.6)
    Upstream.answers["drips"] = True
    found = app_of(options, tmp_path).test_client().get("/_chat/conversations")
    assert found.status_code == 503 and "did not answer within 1 s" in found.json["error"]["message"]


def test_a_newer_token_counts_at_once(client: FlaskClient, tmp_path: Path) -> None:
    client.get("/_chat/panel")
    (tmp_path / "alice").write_text(TOKEN.replace("t", "n"))
    client.get("/_chat/panel")
    assert [one[2]["Authorization"][-1] for one in Upstream.seen] == ["t", "n"]
    (tmp_path / "alice").unlink()
    found = client.get("/_chat/panel")
    assert found.status_code == 503 and "no token for alice" in found.json["error"]["message"]


def test_where_it_is_not_offered_there_is_none(upstream: str, tmp_path: Path) -> None:
    client = app_of(Options(server=upstream, token_folder=tmp_path, has_chat=False), tmp_path).test_client()
    assert client.get("/ask").status_code == client.get("/_chat/panel").status_code == 404
    assert Upstream.seen == [] and ">Ask<" not in client.get("/ask").text


def test_a_server_that_would_hear_the_token_in_the_open_is_not_asked(tmp_path: Path) -> None:
    options = Options(server="http://fullwarp.example.org", token_folder=tmp_path)
    found = app_of(options, tmp_path).test_client().get("/_chat/panel")
    assert found.status_code == 503 and "in the open" in found.json["error"]["message"]


def test_the_direct_mode_says_that_it_has_none(tmp_path: Path) -> None:
    options = Options(mode=Mode.DIRECT, slurm=SlurmSettings(kind=SlurmKind.SIMULATED))
    app = make_app(lambda: Opened(options, Direct(options, "alice")), Files("s", "j", "t", "a"))
    for path in ("/ask", "/_chat/panel"):
        assert "no assistant in the direct mode" in app.test_client().get(path).text
    unset = make_app(lambda: Opened(options, None, SettingsError("x")), Files("s", "j", "t", "a"))
    assert unset.test_client().get("/_chat/panel").status_code == 404


@pytest.mark.parametrize(
    ("href", "pages", "leads"),
    [
        ("/warp/jobs/12_3", "", "/pun/jobs/12_3"),
        ("/warp/jobs/12", "https://fw/warp", "/pun/jobs/12"),
        ("/warp/jobs", "https://fw/warp", "https://fw/warp/jobs"),
        ("/warp/jobs/12/../../x", "https://fw/warp", "https://fw/warp/jobs/12/../../x"),
        ("/warp/nodes/gpu01?at=1", "https://fw/warp", "https://fw/warp/nodes/gpu01?at=1"),
        ("/warp/nodes/gpu01", "", None),
        ("https://docs.example.org/x", "", "https://docs.example.org/x"),
        ("javascript:alert(1)", "https://fw/warp", None),
        ("//evil.example.org", "https://fw/warp", None),
        ("/elsewhere", "https://fw/warp", None),
        ("data:text/html,x", "", None),
    ],
)
def test_links_lead_to_where_the_user_can_go(href: str, pages: str, leads: str | None) -> None:
    link = {"type": "A", "props": {"children": "x", "href": href, "target": "_top"}}
    (found,) = at_home({"text": [link]}, Places("/warp/", "/pun/", pages))["text"]
    assert found["props"].get("href") == leads and found["props"]["children"] == "x"
    assert found["type"] == ("A" if leads else "Span")
    assert "href" not in found["props"] or leads.startswith("/pun/") or found["props"]["target"] == "_blank"


# ---- behind Passenger, with the real server ----


def told(site: Site, question: str) -> list[dict[str, Any]]:
    begun = requests.post(f"{site.url}_chat/ask", json={"question": question}, headers=OURS, timeout=30)
    assert begun.status_code == 200, begun.text
    events: list[dict[str, Any]] = []
    until = time.monotonic() + 60
    while time.monotonic() < until and not (events and events[-1]["kind"] == "ended"):
        asked = {"turn": begun.json()["turn"], "seen": str(len(events))}
        events += requests.get(f"{site.url}_chat/events", params=asked, timeout=30).json()["events"]
    return events


def test_a_job_of_ones_own_is_shown_and_one_of_anothers_is_refused(ondemand_site: Site) -> None:
    site = ondemand_site
    mine = json.dumps(told(site, f"/job {site.low_job}"))
    assert f'"/pun/sys/fullwarp/jobs/{site.low_job}"' in mine and "fw-tool-failed" not in mine and "/warp/" not in mine
    everybody = jobs(Viewer("root", Role.STAFF), site.central.sources, limit=10_000).rows
    other = next(row.job for row in everybody if row.job.user != site.user and row.job.display_id.isdigit())
    theirs = json.dumps(told(site, f"/job {other.display_id}"))
    assert "fw-tool-failed" in theirs and str(other.user) not in theirs


def test_the_panel_is_of_the_user_whatever_the_request_says(ondemand_site: Site) -> None:
    found = requests.get(f"{ondemand_site.url}_chat/panel", params={"path": "/ask"}, headers=SPOOFED, timeout=30)
    assert found.status_code == 200 and f"/user {ondemand_site.user}" in found.text and "sam" not in found.text


def test_a_revoked_token_and_a_server_that_is_away_are_one_line(ondemand_site: Site) -> None:
    site, file = ondemand_site, ondemand_site.token_file
    kept = file.read_text()
    try:
        file.write_text(TOKEN)
        found = requests.get(f"{site.url}_chat/panel", timeout=30)
        assert found.status_code == 503 and "refuses the token" in found.json()["error"]["message"]
        file.write_text(kept)
        site.central.is_down = True
        found = requests.get(f"{site.url}_chat/panel", timeout=30)
        assert found.status_code == 503 and "502" in found.json()["error"]["message"]
        site.central.is_down = False
        assert requests.get(f"{site.url}_chat/panel", timeout=30).status_code == 200
    finally:
        site.central.is_down = False
        file.write_text(kept)


def test_the_direct_mode_has_no_assistant_behind_passenger_either(ondemand_site: Site) -> None:
    try:
        ondemand_site.configure(DIRECT)
        assert "no assistant in the direct mode" in requests.get(f"{ondemand_site.url}ask", timeout=30).text
    finally:
        ondemand_site.configure()
