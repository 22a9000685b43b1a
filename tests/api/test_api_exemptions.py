"""Exemptions over HTTP: only a token of staff makes them, they count at once, and everybody sees what is about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from data.model import Role
from tests.api.conftest import BASE, STAFF, USER, named, with_a_store
from tests.live.builders import NOW

NEW = {"kind": "user", "name": "mallory", "until": "14d", "reason": "thesis deadline", "rule": "idle"}
PATH = f"{BASE}exemptions"


@pytest.fixture
def staff(tmp_path: Path) -> tuple[FlaskClient, dict[str, str]]:
    server, header = with_a_store(tmp_path, STAFF, Role.STAFF)
    return server.test_client(), header


def rows(client: FlaskClient, user: str) -> list[dict[str, Any]]:
    answer = client.get(PATH, headers=named(user))
    assert answer.status_code == 200, answer.text
    return list(answer.json["answer"]["rows"])


def statuses(client: FlaskClient, job: int) -> dict[str, str]:
    found = client.get(f"{BASE}gpu-efficiency/{job}", headers=named(STAFF)).json
    return {one["rule"]: one["status"] for one in found["verdicts"]}


def test_one_counts_from_when_it_is_made_until_it_is_removed(staff: tuple[FlaskClient, dict[str, str]]) -> None:
    client, token = staff
    assert "exempt" not in statuses(client, 90210).values()
    made = client.post(PATH, json=NEW, headers=token)
    assert made.status_code == 200, made.text
    until = datetime.fromisoformat(made.json["until"])
    assert (made.json["created_by"], until) == (STAFF, (NOW + timedelta(days=14)).replace(microsecond=0))
    assert statuses(client, 90210) == {"idle": "exempt", "low-mean": statuses(client, 7)["low-mean"]}
    (row,) = rows(client, STAFF)
    assert (row["jobs"], row["gpus"], row["reason"]) == (2, 10, "thesis deadline")
    assert row["gpu_hours_held"] == pytest.approx(0.0), "nothing is held under it before it was made"
    removed = client.delete(f"{PATH}/{made.json['id']}", headers=token)
    assert (removed.status_code, removed.json["ended_by"]) == (200, STAFF)
    assert "exempt" not in statuses(client, 90210).values() and rows(client, STAFF) == []


def test_others_see_what_is_about_them_and_not_who_made_it(staff: tuple[FlaskClient, dict[str, str]]) -> None:
    client, token = staff
    for name in ("mallory", USER):
        assert client.post(PATH, json=NEW | {"name": name}, headers=token).status_code == 200
    assert {row["name"] for row in rows(client, STAFF)} == {"mallory", USER}
    (own,) = rows(client, USER)
    assert (own["name"], own["created_by"]) == (USER, "")


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"kind": "users"}, "kind"),
        ({"name": " "}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"reason": ""}, "reason"),
        ({"rule": "idl"}, "rule"),
        ({"until": "yesterday"}, "until"),
        ({"until": "2020-01-01"}, "until"),
        ({"until": "400d"}, "until"),
        ({"who": "me"}, "who"),
        ({"name": 7}, "name"),
    ],
)
def test_a_wrong_one_is_refused_and_names_its_field(
    staff: tuple[FlaskClient, dict[str, str]], changed: dict[str, Any], word: str
) -> None:
    client, token = staff
    answer = client.post(PATH, json=NEW | changed, headers=token)
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "bad_request")
    assert word in answer.json["error"]["message"]
    assert rows(client, STAFF) == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"text"'])
def test_a_body_that_is_no_object_is_refused(staff: tuple[FlaskClient, dict[str, str]], body: bytes) -> None:
    client, token = staff
    answer = client.post(PATH, data=body, headers=token | {"Content-Type": "application/json"})
    assert answer.status_code == 400 and "no JSON object" in answer.json["error"]["message"]


@pytest.mark.parametrize(("user", "role"), [(USER, Role.STAFF), (STAFF, Role.USER)])
def test_a_token_without_the_right_changes_nothing(tmp_path: Path, user: str, role: Role) -> None:
    server, header = with_a_store(tmp_path, user, role)
    client = server.test_client()
    for answer in (client.post(PATH, json=NEW, headers=header), client.delete(f"{PATH}/abc", headers=header)):
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "forbidden")
    assert rows(client, STAFF) == []


def test_an_unknown_one_cannot_be_removed(staff: tuple[FlaskClient, dict[str, str]]) -> None:
    client, token = staff
    assert client.delete(f"{PATH}/nope", headers=token).status_code == 404


def test_another_method_is_answered_with_those_that_are_known(staff: tuple[FlaskClient, dict[str, str]]) -> None:
    client, token = staff
    answer = client.put(PATH, json=NEW, headers=token)
    assert answer.status_code == 405 and {"GET", "POST"} <= set(answer.headers["Allow"].split(", "))
