"""Every route: refused without identity, scoped for a user, served to staff; one form of errors, marks and pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.operations import OPERATIONS
from tests.api.conftest import BASE, RANGE, STAFF, USER, named
from tests.queries.cluster import secrets_in

WORDS = {"name": "gpu01", "job_id": "7", "group": "job"}
QUERIES = {"report": RANGE, "findings": RANGE, "metrics": RANGE, "verdict": ""}
PATHS = {
    one.name: f"{BASE}{one.path.format(**WORDS)}?{QUERIES.get(one.name, '')}" for one in OPERATIONS if not one.changes
} | {"document": f"{BASE}openapi.json"}
CHANGES = [(one.method.lower(), BASE + one.path.format(exemption_id="abc")) for one in OPERATIONS if one.changes]
FORBIDDEN = ("jobs/90210", "jobs/90210/series", "gpu-efficiency/90210", "jobs/90212_[1-10]", "jobs/424242")


def ask(client: FlaskClient, path: str, user: str, status: int = 200) -> Any:
    answer = client.get(path if path.startswith("/") else BASE + path, headers=named(user))
    assert (answer.status_code, answer.mimetype) == (status, "application/json"), answer.text[:300]
    return answer.json


@pytest.mark.parametrize("path", [*PATHS.values(), BASE, f"{BASE}nope", "/warp/api", "/warp/api/v2/jobs"])
def test_nobody_is_refused_in_the_one_form(people: FlaskClient, path: str) -> None:
    answer = people.get(path, headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert set(answer.json["error"]) == {"code", "message", "hint"}


@pytest.mark.parametrize(("method", "path"), CHANGES)
@pytest.mark.parametrize("user", ["", USER, STAFF])
def test_nothing_is_changed_for_whom_only_the_proxy_names(
    people: FlaskClient, method: str, path: str, user: str
) -> None:
    body = {"kind": "user", "name": USER, "until": "1d", "reason": "because"} if method == "post" else None
    answer = getattr(people, method)(path, headers=named(user) if user else {}, json=body)
    wanted = (403, "forbidden") if user else (401, "unauthorized")
    assert (answer.status_code, answer.json["error"]["code"]) == wanted


@pytest.mark.parametrize("name", PATHS)
def test_staff_are_served(people: FlaskClient, name: str) -> None:
    assert ask(people, PATHS[name], STAFF)


@pytest.mark.parametrize("name", PATHS)
def test_a_user_is_served_without_the_secrets_of_others(people: FlaskClient, name: str) -> None:
    assert secrets_in(json.dumps(ask(people, PATHS[name], USER))) == []


def test_the_secrets_are_there_to_be_seen(people: FlaskClient) -> None:
    for name in ("jobs", "node", "report", "findings", "verdicts"):
        assert "90210" in json.dumps(ask(people, PATHS[name], STAFF)), name


@pytest.mark.parametrize("path", FORBIDDEN)
def test_what_may_not_be_seen_and_what_is_not_there_are_one_answer(people: FlaskClient, path: str) -> None:
    number = path.split("/")[1]
    error = ask(people, path, USER, 404)["error"]
    other = ask(people, path.replace(number, "555555"), USER, 404)["error"]
    assert error["message"].replace(number, "555555") == other["message"]
    assert error["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("nope", 404, "not_found"),
        ("", 404, "not_found"),
        ("jobs/", 404, "not_found"),
        ("nodes/gpu99", 404, "not_found"),
        ("jobs/nonsense!", 400, "bad_request"),
        ("nodes?limit=0", 400, "bad_request"),
        ("nodes?limit=5000", 400, "bad_request"),
        ("nodes?limit=1&limit=2", 400, "bad_request"),
        ("nodes?partitions=gpu", 400, "bad_request"),
        ("nodes/gpu01?name=gpu02", 400, "bad_request"),
        ("nodes?state=nice", 400, "bad_request"),
        ("nodes?at=tomorrow", 400, "bad_request"),
        ("nodes?partition=gpux", 400, "bad_request"),
        ("gpu-efficiency?partition=gpux", 400, "bad_request"),
        ("jobs?sort=magic", 400, "bad_request"),
        ("reports/galaxy", 400, "bad_request"),
        ("reports/user?since=2026-03-03&until=2026-03-02", 400, "bad_request"),
        ("reports/user?util=900", 400, "bad_request"),
        ("metrics?since=-1s", 400, "bad_request"),
        ("metrics?since=never", 400, "bad_request"),
        ("jobs/7/series?metric=xid", 400, "bad_request"),
        (f"nodes/{'x' * 300}", 400, "bad_request"),
    ],
)
def test_a_wrong_question_is_answered_in_the_one_form(people: FlaskClient, path: str, status: int, code: str) -> None:
    error = ask(people, path, STAFF, status)["error"]
    assert (error["code"], bool(error["message"])) == (code, True)


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_the_api_changes_nothing(people: FlaskClient, method: str) -> None:
    answer = getattr(people, method)(f"{BASE}jobs", headers=named(STAFF))
    assert (answer.status_code, answer.json["error"]["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["Allow"]


def test_what_has_not_changed_is_not_sent_again(people: FlaskClient) -> None:
    first = people.get(PATHS["nodes"], headers=named(STAFF))
    again = people.get(PATHS["nodes"], headers=named(STAFF) | {"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert first.headers["Cache-Control"] == "private, no-cache"
    other = people.get(PATHS["nodes"], headers=named(USER) | {"If-None-Match": '"else"'})
    assert other.status_code == 200


def test_pages_follow_each_other_to_the_end(people: FlaskClient) -> None:
    path: str | None = f"{BASE}nodes?limit=2&partition=gpu&partition=mig"
    seen: list[str] = []
    while path:
        found = ask(people, path, USER)
        assert len(found["answer"]["rows"]) <= found["page"]["limit"] == 2
        seen += [row["node"]["name"] for row in found["answer"]["rows"]]
        path = found["page"]["next"]
    assert len(seen) == len(set(seen)) == found["page"]["total"] > 2
    beyond = ask(people, "nodes?offset=1000000", USER)
    assert (beyond["answer"]["rows"], beyond["page"]["next"]) == ([], None)


def test_pages_of_reports_add_up_to_the_whole(people: FlaskClient) -> None:
    for group in ("user", "job"):
        whole = ask(people, f"reports/{group}?{RANGE}", STAFF)
        total = whole["page"]["total"]
        parts = [ask(people, f"reports/{group}?{RANGE}&limit=1&offset={place}", STAFF) for place in range(total)]
        assert [part["answer"]["rows"][0]["key"] for part in parts] == [row["key"] for row in whole["answer"]["rows"]]
        assert all(part["answer"]["total"] == whole["answer"]["total"] for part in parts)
