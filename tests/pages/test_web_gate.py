"""Who may pass, and what goes out with every answer."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.components.snapshots import snapshot
from tests.queries.cluster import open_fakes
from tests.services.web import PREFIX, STAFF, USER, sources_of

CALLBACK = {
    "output": "..a.children..",
    "outputs": [],
    "inputs": [{"id": "tick", "property": "n_intervals", "value": 1}],
    "changedPropIds": ["tick.n_intervals"],
}


@pytest.fixture
def client(web_app: Any) -> FlaskClient:
    from app import open_app

    open_app(web_app, sources_of(snapshot()))
    made: FlaskClient = web_app.server.test_client()
    return made


def as_user(name: str) -> dict[str, str]:
    return {"X-Remote-User": name}


@pytest.mark.parametrize("path", ["", "_dash-layout", "_dash-dependencies", "nodes", "readyz", "x/../_dash-layout"])
def test_nobody_passes_without_a_name(client: FlaskClient, path: str) -> None:
    assert client.get(PREFIX + path).status_code == 401


def test_a_callback_without_a_name_is_refused_as_json(client: FlaskClient) -> None:
    answer = client.post(PREFIX + "_dash-update-component", json=CALLBACK)
    assert (answer.status_code, answer.json["error"]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("name", ["", "  ", "a b", "<script>", "x" * 200, "al\u200bice"])
def test_a_name_that_is_no_user_name_is_no_identity(client: FlaskClient, name: str) -> None:
    assert client.get(PREFIX, headers=as_user(name.encode("utf-8").decode("latin-1"))).status_code == 401


def test_people_read_a_page_that_names_no_cause(client: FlaskClient) -> None:
    answer = client.get(PREFIX, headers={"Accept": "text/html"})
    assert "Not signed in" in answer.text and "X-Remote-User" not in answer.text


@pytest.mark.parametrize("path", ["healthz", "assets/css/00-tokens.css", "assets/head/theme.js", "_favicon.ico"])
def test_health_word_and_files_are_open(client: FlaskClient, path: str) -> None:
    assert client.get(PREFIX + path).status_code == 200


@pytest.mark.parametrize("path", [PREFIX + "healthz", "/healthz"])
def test_the_health_word_is_one_word_below_the_prefix_and_at_the_root(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.text) == (200, "ok")


@pytest.mark.parametrize("path", ["assets/../app.py", "assets/%2e%2e/app.py", "_bundle/..%2f..%2fapp.py"])
def test_no_file_outside_the_open_folders_is_given(client: FlaskClient, path: str) -> None:
    assert client.get(PREFIX + path).status_code in (401, 404)


@pytest.mark.parametrize(("path", "status"), [("", 200), ("nope", 404), ("not-found-404", 404), ("nodes/h1/x", 404)])
def test_unknown_addresses_answer_404(client: FlaskClient, path: str, status: int) -> None:
    assert client.get(PREFIX + path, headers=as_user(USER)).status_code == status


def test_a_page_carries_the_security_headers(client: FlaskClient) -> None:
    headers = client.get(PREFIX, headers=as_user(USER)).headers
    policy = headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in policy and "'unsafe-inline'" not in policy.split("style-src")[0]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


def test_everything_that_a_page_loads_lies_under_the_prefix(client: FlaskClient) -> None:
    from bs4 import BeautifulSoup

    page = BeautifulSoup(client.get(PREFIX, headers=as_user(USER)).text, "lxml")
    loaded = [tag.get("src") or tag.get("href") for tag in page.select("script[src], link[href]")]
    assert 4 < len(loaded) < 12
    assert [address for address in loaded if not str(address).startswith((PREFIX, "data:"))] == []


def test_the_layout_names_the_viewer_and_the_role(client: FlaskClient) -> None:
    for name, role in ((STAFF, "staff"), (USER, "user")):
        text = client.get(PREFIX + "_dash-layout", headers=as_user(name)).text
        assert f"Signed in as {name}, {role}" in text


def test_a_closed_app_says_so(web_app: Any) -> None:
    from pages._request import backing

    backing(web_app.server).opened = None
    client = web_app.server.test_client()
    assert client.get(PREFIX + "api/v1/status", headers=as_user(USER)).status_code == 503
    assert client.get(PREFIX + "healthz").status_code == 200


def test_the_warm_up_cannot_be_claimed_by_a_header(client: FlaskClient) -> None:
    claims = {"Fullwarp.Warm-Up": "1", "fullwarp.warm_up": "1", "Fullwarp_warm_up": "1"}
    assert client.get(PREFIX, headers=claims).status_code == 401
    assert client.get(PREFIX, environ_overrides={"fullwarp.warm_up": object()}).status_code == 401


def test_importing_the_app_opens_nothing() -> None:
    code = "import sys, app; sys.exit(any(name in sys.modules for name in ('data.sources', 'requests')))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=str(__import__("pathlib").Path(__file__).parents[2])
        ).returncode
        == 0
    )


@pytest.fixture
def client_of_cluster(web_app: Any) -> FlaskClient:
    from app import open_app

    open_app(web_app, open_fakes())
    made: FlaskClient = web_app.server.test_client()
    return made


def ask(client: FlaskClient, output: str, values: dict[str, Any], user: str) -> int:
    """Call the callback whose outputs begin with `output`; inputs and states that are not given are None."""
    found = next(
        one
        for one in client.get(PREFIX + "_dash-dependencies", headers=as_user(user)).json
        if one["output"].startswith(output)
    )
    parts = {kind: [{**part, "value": values.get(part["id"])} for part in found[kind]] for kind in ("inputs", "state")}
    names = [name.split("@")[0].rsplit(".", 1) for name in found["output"].strip(".").split("...")]
    outputs = [{"id": name, "property": kind} for name, kind in names]
    first = found["inputs"][0]
    changed = [f"{first['id']}.{first['property']}"]
    body = {"output": found["output"], "outputs": outputs, **parts, "changedPropIds": changed}
    return client.post(PREFIX + "_dash-update-component", json=body, headers=as_user(user)).status_code


@pytest.mark.parametrize("job_id", ["999999", "2", "../..", "14_[1-3]", "x" * 5000, ""])
def test_a_tick_about_a_job_that_is_not_there_changes_nothing(client_of_cluster: FlaskClient, job_id: str) -> None:
    assert ask(client_of_cluster, "..job-head.children", {"job-id": job_id, "job-tick": 1}, USER) == 204


def test_a_tick_about_another_user_changes_nothing(client_of_cluster: FlaskClient) -> None:
    assert ask(client_of_cluster, "..user-note.children", {"user-name": "someone-else", "user-tick": 1}, USER) == 204


@pytest.mark.parametrize(("path", "status"), [("api/v1/nope", 404), ("api", 404), ("api/v1/status", 200)])
def test_the_api_answers_for_its_own_addresses(client: FlaskClient, path: str, status: int) -> None:
    answer = client.get(PREFIX + path, headers=as_user(USER) | {"Accept": "text/html"})
    assert (answer.status_code, answer.mimetype) == (status, "application/json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
