"""The assistant by token: for the app in Open OnDemand. The same questions, in short requests, with every check."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from data.state.store import StateStore, open_store
from data.state.tokens import TokenRole, create_token, list_tokens, revoke_token
from pages._chat_routes import HEADER, HEADER_VALUE, add_chat
from settings import CacheSettings, ExposureSettings
from tests.api.conftest import STAFF, USER, named, server_of, settings_for
from tests.queries.cluster import open_fakes

CHAT = "/warp/api/chat/"
OURS = {HEADER: HEADER_VALUE}
OTHERS_JOB = "90210"


class Served:
    """A server with the assistant, and its store."""

    def __init__(self, folder: Path, per_minute: int = 0) -> None:
        settings = settings_for(state=folder / "state").model_copy(
            update={
                "cache": CacheSettings(kind="memory", directory=folder / "cache"),
                "exposure": ExposureSettings(requests_per_minute=per_minute),
            }
        )
        store = open_store(settings.state, writes=True)
        assert store is not None
        self.store: StateStore = store
        server = server_of(settings, replace(open_fakes(), settings=settings))
        add_chat(server, "/warp/")
        self.client: FlaskClient = server.test_client()

    def token(self, user: str, role: TokenRole = TokenRole.USER, days: int = 1) -> dict[str, str]:
        now = datetime.now(UTC)
        sent = create_token(self.store, user, role, now, now + timedelta(days=days))[1]
        return {"Authorization": f"Bearer {sent}"}

    def post(self, name: str, headers: dict[str, str], **body: Any) -> Any:
        return self.client.post(f"{CHAT}{name}", json=body, headers=headers)

    def told(self, question: str, headers: dict[str, str]) -> list[dict[str, Any]]:
        begun = self.post("ask", {**headers, **OURS}, question=question)
        assert begun.mimetype == "application/json", "a stream was sent to one who cannot read it"
        events: list[dict[str, Any]] = []
        until = time.monotonic() + 60
        while time.monotonic() < until and not (events and events[-1]["kind"] == "ended"):
            asked = f"{CHAT}events?turn={begun.json['turn']}&seen={len(events)}"
            events += self.client.get(asked, headers=headers).json["events"]
        return events


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def test_a_token_asks_as_its_user_and_is_told_in_short_requests(served: Served) -> None:
    mine = served.told("/job 7", served.token(USER))
    assert mine[0]["kind"] == "begun" and mine[-1]["failure"] == ""
    assert "Open the page" in json.dumps(mine)
    others = served.told(f"/job {OTHERS_JOB}", served.token(USER))
    assert "secret" not in json.dumps(others) and "mallory" not in json.dumps(others)
    assert "fw-tool-failed" in json.dumps(others) or others[-1]["failure"]


def test_a_token_of_the_role_user_makes_nobody_staff(served: Served) -> None:
    assert "mallory" not in json.dumps(served.told("/waste week", served.token(STAFF)))
    panel = served.client.get(f"{CHAT}panel?path=/", headers=served.token(STAFF))
    assert "/waste week" not in panel.text and f"/user {STAFF}" in panel.text


def test_what_a_token_asks_is_the_users_own_conversation(served: Served) -> None:
    served.told("/help", served.token(USER))
    assert "/help" in served.client.get(f"{CHAT}conversations", headers=served.token(USER)).text
    assert "/help" not in served.client.get(f"{CHAT}conversations", headers=served.token(STAFF)).text


@pytest.mark.parametrize("name", ["ask", "events", "stop", "panel", "conversations", "conversation", "forget", "judge"])
@pytest.mark.parametrize("kind", ["revoked", "ended", "scrape", "wrong", "none"])
def test_no_other_token_opens_it(served: Served, name: str, kind: str) -> None:
    token = {
        "revoked": lambda: served.token(USER),
        "ended": lambda: served.token(USER, days=-1),
        "scrape": lambda: served.token(USER, TokenRole.SCRAPE),
        "wrong": lambda: {"Authorization": "Bearer fullwarp_x"},
        "none": lambda: {},
    }[kind]()
    if kind == "revoked":
        revoke_token(served.store, list_tokens(served.store)[0].id, datetime.now(UTC))
    proxy = named(USER) if kind != "none" else {}
    for method in ("GET", "POST"):
        sent = served.client.open(f"{CHAT}{name}", method=method, headers={**token, **proxy, **OURS}, json={})
        assert (sent.status_code, sent.json["error"]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("path", ["/warp/_chat/panel", "/warp/_chat/conversations", "/warp/", "/warp/_search"])
def test_a_token_still_opens_no_page(served: Served, path: str) -> None:
    assert served.client.get(path, headers=served.token(STAFF, TokenRole.STAFF)).status_code == 401


def test_changes_need_our_header_with_a_token_too(served: Served) -> None:
    token = served.token(USER)
    for name in ("ask", "stop", "forget", "judge"):
        assert served.post(name, token, question="/help", all=True).status_code == 403
    assert served.client.get(f"{CHAT}ask", headers=token).status_code == 404


def test_a_page_of_another_site_cannot_ask_where_the_proxy_names_somebody(served: Served) -> None:
    foreign = {"Origin": "https://evil.example.org", "Sec-Fetch-Site": "cross-site", **OURS}
    assert served.post("ask", {**named(USER), **foreign}, question="/help").status_code == 403
    assert served.post("ask", {**served.token(USER), **foreign}, question="/help").status_code == 200


def test_each_user_may_ask_so_often(tmp_path: Path) -> None:
    served = Served(tmp_path, per_minute=5)
    token, other = served.token(USER), served.token(STAFF)
    codes = [served.client.get(f"{CHAT}conversations", headers=token).status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    assert served.client.get(f"{CHAT}conversations", headers=other).status_code == 200
    assert served.client.get("/warp/api/v1/status", headers=token).status_code == 200


def test_it_is_no_part_of_the_documented_api(served: Served) -> None:
    assert "chat" not in served.client.get("/warp/api/v1/openapi.json", headers=served.token(USER)).text
