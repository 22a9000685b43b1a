"""Each request has an id, a line in the log and its place among the counts; who may read the counts."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient
from pydantic import SecretStr

from api.self_metrics import SelfMetrics
from data.state.store import open_store
from data.state.tokens import TokenRole, create_token, revoke_token
from data.tracing import trace
from pages._http.watching import route_class
from pages._request import backing
from settings import ExposureSettings, IdentitySettings, Settings
from tests.api.conftest import BASE, STAFF, USER, named, server_of, settings_for
from tests.queries.cluster import open_fakes

SECRET = "0123456789abcdef0123456789abcdef"
HERE, ELSEWHERE = "10.1.2.3", "10.9.9.9"
PREFIX = "/warp/"


def watched(tmp_path: Path | None = None, **exposure: Any) -> Flask:
    """The API behind the gate, over TCP with a secret, watched from HERE."""
    settings = settings_for(state=None if tmp_path is None else tmp_path / "state")
    identity = IdentitySettings(secret=SecretStr(SECRET), proxy_addresses=["127.0.0.1", HERE], staff_users=[STAFF])
    shown = ExposureSettings(scrape_addresses=[f"{HERE}/32"], **exposure)
    settings = settings.model_copy(update={"identity": identity, "exposure": shown})
    return server_of(settings, replace(open_fakes(), settings=settings))


def by_proxy(user: str, **more: str) -> dict[str, str]:
    return {**named(user), "X-Fullwarp-Secret": SECRET, **{name.replace("_", "-"): text for name, text in more.items()}}


def test_the_id_of_the_trusted_proxy_is_kept_and_given_back() -> None:
    answer = watched().test_client().get(f"{BASE}status", headers=by_proxy(USER, X_Request_ID="edge-12345678"))
    assert (answer.status_code, answer.headers["X-Request-ID"]) == (200, "edge-12345678")


@pytest.mark.parametrize("sent", ["", "short", "x" * 129, "12345678 forged", "12345678\x85", "<b>12345678"])
def test_an_id_that_is_none_is_made_anew(sent: str) -> None:
    answer = watched().test_client().get(f"{BASE}status", headers=by_proxy(USER, X_Request_ID=sent))
    assert re.fullmatch("[0-9a-f]{16}", answer.headers["X-Request-ID"])


def test_nobody_else_may_name_the_id() -> None:
    client = watched().test_client()
    for path in (f"{BASE}status", "/warp/healthz", "/warp/nope"):
        answer = client.get(path, headers={"X-Request-ID": "forged-12345678"})
        assert re.fullmatch("[0-9a-f]{16}", answer.headers["X-Request-ID"])


def test_a_line_names_the_viewer_the_class_and_no_query(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "fullwarp.requests"):
        watched().test_client().get(f"{BASE}jobs?user=mallory", headers=by_proxy(USER))
    fields = caplog.records[-1].fields
    assert {name: fields[name] for name in ("method", "path", "route", "status", "peer")} == {
        "method": "GET",
        "path": f"{BASE}jobs",
        "route": "api",
        "status": 200,
        "peer": "127.0.0.1",
    }
    assert fields["milliseconds"] > 0 and trace() is None


def test_a_name_that_is_not_believed_is_logged_as_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    client = watched().test_client()
    with caplog.at_level(logging.INFO):
        assert client.get(f"{BASE}status", headers=named("root")).status_code == 401
        assert client.get(f"{BASE}status").status_code == 401
    levels = [one.levelname for one in caplog.records if one.getMessage().startswith("401")]
    assert levels == ["WARNING", "INFO"]
    assert "ignored" in caplog.text and "root" not in caplog.text


@pytest.mark.parametrize(
    ("inner", "route"),
    [
        ("", "page"),
        ("jobs/123", "page"),
        ("_dash-update-component", "callback"),
        ("_search", "data"),
        ("api/v1/jobs/1", "api"),
        ("api/v1/self/metrics", "health"),
        ("assets/x.css", "file"),
        ("_bundle/x.js", "file"),
        ("healthz", "health"),
        ("../etc/passwd", "page"),
        ("_anything-at-all", "data"),
    ],
)
def test_addresses_fall_into_few_classes(inner: str, route: str) -> None:
    assert route_class(inner) == route


def values(text: str) -> dict[str, float]:
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def metrics_of(client: FlaskClient, **more: Any) -> Any:
    return client.get(f"{BASE}self/metrics", environ_overrides={"REMOTE_ADDR": HERE}, **more)


def test_the_counts_are_those_of_the_requests() -> None:
    client = watched().test_client()
    for headers in (by_proxy(USER), by_proxy(USER), {}):
        client.get(f"{BASE}status", headers=headers)
    answer = metrics_of(client)
    found = values(answer.text)
    assert answer.mimetype == "text/plain"
    assert found['fullwarp_http_requests_total{route="api",status="200"}'] == 2
    assert found['fullwarp_http_requests_total{route="api",status="401"}'] == 1
    assert found['fullwarp_http_request_seconds_count{route="api"}'] == 3
    assert found['fullwarp_source_up{source="slurm"}'] == 1
    assert found["fullwarp_snapshot_age_seconds"] >= 0 and found["fullwarp_streams_open"] == 0
    assert any(name.startswith("fullwarp_worker_resident_bytes") and value > 2**24 for name, value in found.items())


def test_no_label_names_a_person_a_job_or_a_node() -> None:
    client = watched().test_client()
    for path in ("jobs/4242", "nodes/h1", "jobs?user=alice", "zzz-alice"):
        client.get(f"{BASE}{path}", headers=by_proxy("alice"))
    labels = set(re.findall(r'(\w+)="([^"]*)"', metrics_of(client).text))
    known = {"route", "status", "source", "condition", "outcome", "le", "version", "worker"}
    assert {name for name, _ in labels} <= known
    assert not [value for _, value in labels if re.search("alice|4242|h1", value)]


def test_every_count_is_explained() -> None:
    told = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "deploy.md").read_text()
    names = set(re.findall(r"^# TYPE fullwarp_(\w+?)(?:_info)? ", metrics_of(watched().test_client()).text, re.M))
    endings = {name: name if name.startswith("source_up") else name.removeprefix("source") for name in names}
    assert {name for name in names - {"build"} if name not in told and endings[name] not in told} == set()


def test_a_stream_is_counted_while_it_is_open() -> None:
    server = watched()
    server.add_url_rule(f"{PREFIX}_talk", "talk", lambda: Response(iter(["a", "b"]), mimetype="text/event-stream"))
    client = server.test_client()
    answer = client.get(f"{PREFIX}_talk", headers=by_proxy(USER))
    assert values(metrics_of(client).text)["fullwarp_streams_open"] == 1
    answer.close()
    assert values(metrics_of(client).text)["fullwarp_streams_open"] == 0


def test_requests_to_the_sources_are_counted_once_however_often_they_are_written() -> None:
    sent = {"slurm": 0}
    metrics = SelfMetrics("1", lambda: sent)
    for total in (3, 3, 7):
        sent["slurm"] = total
        text = metrics.text(None, datetime.now(UTC)).decode()
    assert values(text)['fullwarp_source_requests_total{source="slurm"}'] == 7


def test_refreshes_and_kept_answers_are_counted() -> None:
    metrics = SelfMetrics("1", dict)
    metrics.refreshed(0.2, True)
    metrics.refreshed(30.0, False)
    for was_kept in (False, True, True):
        metrics.looked_up(was_kept)
    found = values(metrics.text(None, datetime.now(UTC)).decode())
    assert (found["fullwarp_refresh_seconds_count"], found["fullwarp_refresh_failures_total"]) == (2, 1)
    assert found['fullwarp_answers_total{outcome="hit"}'] == 2
    assert found['fullwarp_answers_total{outcome="miss"}'] == 1


@pytest.mark.parametrize("path", ["readyz", "api/v1/self/metrics"])
def test_a_listed_address_may_watch_and_nobody_else(path: str) -> None:
    client = watched().test_client()

    def status(peer: str, **headers: str) -> int:
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        answer = client.get(PREFIX + path, headers=sent, environ_overrides={"REMOTE_ADDR": peer})
        return answer.status_code

    assert status(HERE) in (200, 503)  # 503 until the first picture is there
    assert status(f"::ffff:{HERE}") in (200, 503)
    assert status(ELSEWHERE) == 401
    assert status("") == 401
    # What a proxy on that very host passes on is from anybody.
    assert status(HERE, **by_proxy(STAFF)) == 401
    assert status(HERE, X_Forwarded_For="10.0.0.1") == 401
    assert status(HERE, Forwarded="for=10.0.0.1") == 401
    # The name of a person opens nothing here, not even that of staff.
    assert status("127.0.0.1", **by_proxy(STAFF)) == 401
    assert status(ELSEWHERE, X_Forwarded_For=HERE) == 401


def test_without_a_secret_the_proxys_address_never_counts() -> None:
    settings = settings_for()
    shown = ExposureSettings(scrape_addresses=["127.0.0.1"])
    server = server_of(settings.model_copy(update={"exposure": shown}), open_fakes())
    assert server.test_client().get(f"{PREFIX}readyz").status_code == 401


@pytest.fixture
def with_tokens(tmp_path: Path) -> tuple[FlaskClient, dict[str, str]]:
    server = watched(tmp_path)
    store = open_store(settings_for(state=tmp_path / "state").state, writes=True)
    assert store is not None
    now = datetime.now(UTC)
    made = {role.value: create_token(store, STAFF, role, now, now + timedelta(days=1))[1] for role in TokenRole}
    store.close()
    return server.test_client(), made


def test_a_scrape_token_reads_the_counts_and_nothing_of_the_cluster(
    with_tokens: tuple[FlaskClient, dict[str, str]],
) -> None:
    client, made = with_tokens
    sent = {role: {"Authorization": f"Bearer {token}"} for role, token in made.items()}
    watching = {role: client.get(f"{BASE}self/metrics", headers=headers).status_code for role, headers in sent.items()}
    asking = {role: client.get(f"{BASE}status", headers=headers).status_code for role, headers in sent.items()}
    assert watching == {"user": 401, "staff": 401, "scrape": 200}
    assert asking == {"user": 200, "staff": 200, "scrape": 401}
    assert client.get(f"{PREFIX}readyz", headers=sent["scrape"]).text in ("ready", "starting")


WRONG = ("", "Bearer", "Bearer ", "Bearer  ", f"Bearer {SECRET[:-1]}", f"Bearer {SECRET}x", f"Basic {SECRET}", SECRET)


@pytest.mark.parametrize("path", ["readyz", "api/v1/self/metrics"])
def test_the_settings_scrape_token_asks_no_store(tmp_path: Path, path: str) -> None:
    """The store is a file that is none: whoever asked it would get 503."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.sqlite").write_text("no database")
    (tmp_path / "scrape").write_text(f"{SECRET}\n")
    client = watched(tmp_path, scrape_token_file=tmp_path / "scrape").test_client()

    def status(authorization: str, path: str = path) -> int:
        return client.get(PREFIX + path, headers={"Authorization": authorization}).status_code

    answers = {"readyz": "starting", "api/v1/self/metrics": "fullwarp_http_requests_total"}
    right = client.get(PREFIX + path, headers={"Authorization": f"Bearer {SECRET}"})
    assert answers[path] in right.text or right.text == "ready"
    assert [status(sent) for sent in WRONG] == [401] * len(WRONG)
    assert status(f"Bearer {SECRET}", "api/v1/status") == 401, "it names nobody"
    assert status("Bearer fullwarp_0123456789ab_" + "x" * 43) == 503
    (tmp_path / "scrape").write_text("another-one-0123456789")
    assert status(f"Bearer {SECRET}") == 401, "read again when it changes"
    (tmp_path / "scrape").unlink()
    assert status("Bearer another-one-0123456789") == 401


def test_what_the_store_gave_out_counts_by_the_store_alone(
    with_tokens: tuple[FlaskClient, dict[str, str]], tmp_path: Path
) -> None:
    """A token that was revoked must not go on because it stands in the settings, too."""
    _, made = with_tokens
    client = watched(tmp_path, scrape_token=SecretStr(made["scrape"])).test_client()
    sent = {"Authorization": f"Bearer {made['scrape']}"}
    assert client.get(f"{BASE}self/metrics", headers=sent).status_code == 200
    store = open_store(settings_for(state=tmp_path / "state").state, writes=True)
    assert store is not None
    revoke_token(store, made["scrape"].split("_")[1], datetime.now(UTC))
    store.close()
    assert client.get(f"{BASE}self/metrics", headers=sent).status_code == 401


def test_the_server_is_ready_once_it_has_looked_at_the_cluster() -> None:
    server = watched()
    client, own = server.test_client(), backing(server)
    opened, own.opened = own.opened, None

    def word() -> tuple[int, str]:
        answer = client.get(f"{PREFIX}readyz", environ_overrides={"REMOTE_ADDR": HERE})
        return answer.status_code, answer.text

    assert (word(), client.get(f"{PREFIX}healthz").text) == ((503, "starting"), "ok")
    own.opened = opened
    word()  # begins the first look, and waits for nothing
    own.sources.live.snapshot()
    assert word() == (200, "ready")


def test_settings_name_what_is_wrong_with_an_address() -> None:
    from pydantic import ValidationError

    with pytest.raises(ValidationError, match="scrape_addresses"):
        Settings.model_validate({"exposure": {"scrape_addresses": ["nowhere"]}})
