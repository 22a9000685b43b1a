"""What the web app lets in and gives out: sizes, rates, origins, frames, cookies, and nothing of its insides."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from pydantic import ValidationError

from pages._http.headers import content_security_policy
from pages._http.limits import CHANGING, limit_bodies, limit_rates
from pages._http.refusals import explain_failures
from settings import ExposureSettings
from tests.components.snapshots import snapshot
from tests.pages.test_web_gate import CALLBACK
from tests.services.viewers import first_data
from tests.services.web import PREFIX, STAFF, USER, open_still, sources_of

ROOT = Path(__file__).resolve().parents[2]
MOST = ExposureSettings().max_body_bytes
FIRST = first_data("/")
CALLBACKS = f"{PREFIX}_dash-update-component"


@pytest.fixture
def client(web_app: Any) -> FlaskClient:
    open_still(web_app, sources_of(snapshot()))
    made: FlaskClient = web_app.server.test_client()
    return made


def by(user: str, **more: str) -> dict[str, str]:
    return {"X-Remote-User": user, **{name.replace("_", "-"): text for name, text in more.items()}}


def test_every_kind_of_answer_carries_the_headers(client: FlaskClient) -> None:
    for path in ("", "healthz", "assets/head/theme.js", "nope", "api/v1/status", "api/v1/nope", "jobs.csv", "readyz"):
        headers = client.get(PREFIX + path, headers=by(USER)).headers
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["Referrer-Policy"] == "same-origin", path
        assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin", path
        assert "camera=()" in headers["Permissions-Policy"], path
        assert headers["X-Frame-Options"] == "SAMEORIGIN", path
        assert "Set-Cookie" not in headers, path
        assert "Server" not in headers or "Python" not in headers["Server"], path


def test_no_script_of_a_page_is_allowed_but_ours(client: FlaskClient, web_app: Any) -> None:
    policy = dict(part.strip().split(" ", 1) for part in content_security_policy(web_app).split(";"))
    assert "'unsafe-inline'" not in policy["script-src"] and "'unsafe-eval'" not in policy["script-src"]
    assert policy["default-src"] == policy["connect-src"] == policy["form-action"] == policy["base-uri"] == "'self'"
    assert policy["object-src"] == "'none'"
    assert "http" not in "".join(policy.values())


def test_only_configured_origins_may_frame(web_app: Any) -> None:
    assert "frame-ancestors 'self';" in content_security_policy(web_app)
    policy = content_security_policy(web_app, frames=["https://ondemand.example.org"])
    assert "frame-ancestors 'self' https://ondemand.example.org;" in policy


@pytest.mark.parametrize(
    "text",
    ["*", "ondemand.example.org", "https://a b", "https://x/path", "https://x; script-src *", "javascript:1", ""],
)
def test_an_origin_that_is_none_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValidationError, match="must be an origin such as"):
        ExposureSettings(frame_ancestors=[text])


def test_an_origin_loses_its_slash_and_its_capitals() -> None:
    assert ExposureSettings(origins=["HTTPS://Portal.example.org:8443/"]).origins == ["https://portal.example.org:8443"]


OWN = "http://localhost"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 0),
        ({"Sec-Fetch-Site": "same-origin"}, 0),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind-a-proxy.example"}, 0),
        ({"Sec-Fetch-Site": "none"}, 0),
        ({"Origin": OWN}, 0),
        ({"Origin": "https://portal.example", "X-Forwarded-Host": "portal.example:443"}, 0),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": OWN}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://localhost:8080"}, 403),
    ],
)
def test_pages_of_other_sites_change_nothing(client: FlaskClient, headers: dict[str, str], status: int) -> None:
    for path in (CALLBACKS, f"{PREFIX}api/v1/exemptions"):
        answer = client.post(path, json=CALLBACK, headers=by(STAFF) | headers)
        crossed = answer.status_code == 403 and answer.json["error"]["code"] == "cross_site"
        assert crossed == (status == 403), answer.text
    assert client.get(PREFIX, headers=by(USER) | headers).status_code == 200


def changing(client: FlaskClient) -> list[tuple[str, str]]:
    """Every route that changes something, with its method."""
    found = []
    for rule in client.application.url_map.iter_rules():
        path = re.sub(r"<[^>]+>", "x", rule.rule)
        found += [(path, method) for method in sorted(CHANGING & (rule.methods or set()))]
    return found


def test_no_route_that_changes_anything_takes_a_foreign_page_or_too_much(client: FlaskClient) -> None:
    assert len(changing(client)) >= 3
    for path, method in changing(client):
        foreign = client.open(path, method=method, json={}, headers=by(STAFF, Sec_Fetch_Site="cross-site"))
        assert (foreign.status_code, foreign.json["error"]["code"]) == (403, "cross_site"), path
        large = client.open(path, method=method, data=b"x" * (MOST + 1), headers=by(STAFF))
        assert large.status_code == 413, path
        nobody = client.open(path, method=method, json={})
        assert nobody.status_code == 401, path


def asked(path: object = PREFIX, search: object = "", **parts: object) -> dict[str, object]:
    """The question that every page begins with; a part that is None is left out."""
    place, query = FIRST["inputs"]
    inputs = [{**place, "value": path}, {**query, "value": search}]
    return {name: part for name, part in {**FIRST, "inputs": inputs, **parts}.items() if part is not None}


ODD = {
    "outside the prefix": asked("/"),
    "no path": asked(3),
    "no search": asked(search=["a"]),
    "a list": [],
    "no output": asked(output=None),
    "too few inputs": asked(inputs=FIRST["inputs"][:1]),
    "others' inputs": asked(inputs=[{"id": {"a": 1}, "property": "pathname"}] * 2),
    "inputs in lists": asked(inputs=[FIRST["inputs"]] * 2),
    "no inputs": asked(inputs="abc"),
    "too few outputs": asked(outputs=[]),
    "state": asked(state=3),
    "changed": asked(changedPropIds=3),
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_a_callback_that_no_page_asks_is_no_failure_of_ours(client: FlaskClient, body: object) -> None:
    assert client.post(CALLBACKS, json=asked(), headers=by(USER)).status_code == 200
    answer = client.post(CALLBACKS, json=body, headers=by(USER))
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "odd_callback")


def test_json_too_deep_to_be_read_is_no_failure_of_ours(client: FlaskClient) -> None:
    answer = client.post(CALLBACKS, data="[" * 20_000, headers=by(USER), content_type="application/json")
    assert answer.status_code == 400


def test_a_tab_of_before_an_upgrade_is_told_to_load_again(client: FlaskClient) -> None:
    answer = client.post(CALLBACKS, json=asked(output="gone.children"), headers=by(USER))
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "unknown_callback")
    assert "Load it again" in answer.get_json()["error"]["hint"]


def test_who_comes_from_elsewhere_is_logged(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        client.post(CALLBACKS, json=CALLBACK, headers=by(STAFF) | {"Origin": "https://evil.example"})
    assert "https://evil.example" in caplog.text


@pytest.mark.parametrize("path", ["_dash-update-component", "api/v1/exemptions", "nope"])
def test_a_body_that_is_too_large_is_refused_and_the_limit_named(client: FlaskClient, path: str) -> None:
    answer = client.post(PREFIX + path, data=b"x" * (MOST + 1), headers=by(STAFF), content_type="application/json")
    assert (answer.status_code, answer.json["error"]["code"]) == (413, "too_large")
    assert f"{MOST:,}" in answer.json["error"]["message"]
    assert "exposure.max_body_bytes" in answer.json["error"]["hint"]


def test_a_body_of_unknown_length_is_refused(client: FlaskClient) -> None:
    answer = client.post(CALLBACKS, headers=by(STAFF) | {"Transfer-Encoding": "chunked"})
    assert (answer.status_code, answer.json["error"]["code"]) == (411, "length_required")


def small(wait: int = 0) -> FlaskClient:
    """An app with the limits alone."""
    from flask import g

    from data.model import Role, Viewer

    server = Flask("small")
    limit_bodies(server, 1024)
    explain_failures(server)
    server.before_request(lambda: setattr(g, "fullwarp_viewer", Viewer("alice", Role.USER)))
    limit_rates(server, "/", lambda user: wait if user == "alice" else 0)
    server.add_url_rule("/page", "page", lambda: "fine")
    server.add_url_rule("/api/x", "api", lambda: "fine")
    server.add_url_rule("/broken", "broken", lambda: {}["secret-key-of-ours"])
    return server.test_client()


def test_who_asks_too_often_waits_but_for_the_api_which_counts_itself() -> None:
    client = small(wait=7)
    answer = client.get("/page", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Retry-After"], answer.mimetype) == (429, "7", "text/html")
    assert "Try again in 7 s." in answer.text
    assert client.get("/page").json["error"]["code"] == "too_many_requests"
    assert (client.get("/api/x").text, small().get("/page").text) == ("fine", "fine")


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_failure_of_ours_shows_nothing_of_ours(accept: str) -> None:
    answer = small().get("/broken", headers={"Accept": accept})
    assert (answer.status_code, answer.mimetype) == (500, accept)
    assert "secret-key-of-ours" not in answer.text and "Traceback" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "%2e%2e/%2e%2e/etc/passwd",
        "assets/%2e%2e/app.py",
        "assets/..%2fapp.py",
        "assets/%252e%252e/app.py",
        "_bundle/%2e%2e%2f%2e%2e%2fapp.py",
        "_dash-component-suites/dash/%2e%2e/%2e%2e/flask/app.py",
        "_dash-component-suites/dash/nope.js",
        "_dash-component-suites/os/nope.js",
        "api/v1/nodes/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "jobs/%2e%2e%2fhealth",
    ],
)
def test_dots_lead_nowhere(client: FlaskClient, path: str) -> None:
    answer = client.get(PREFIX + path, headers=by(USER))
    assert answer.status_code in (400, 404)
    assert "create_app" not in answer.text and "root:" not in answer.text


def test_no_variable_turns_debugging_on() -> None:
    code = """
from app import create_app
from data.settings_file import demo_settings

app = create_app(demo_settings(""))
on = {name for name in ("ui", "hot_reload", "serve_dev_bundles", "props_check") if app._dev_tools[name]}
assert not on and not app.server.debug, on
assert not [rule for rule in app.server.url_map.iter_rules() if "console" in rule.rule]
"""
    variables = {"FLASK_DEBUG": "1", "DASH_DEBUG": "true", "DASH_HOT_RELOAD": "true", "DASH_UI": "true"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
