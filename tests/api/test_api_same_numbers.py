"""One question, several surfaces: the API, the command's JSON, the page's file and the assistant say the same."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask import Flask
from flask.testing import FlaskClient
from typer.testing import CliRunner

import cli
from chat.tools import call
from data.model import Role, Viewer
from data.queries.asked import Asked
from pages._efficiency_export import add_efficiency_export
from pages._job_export import add_export
from pages._request import backing
from terminal.session import View
from tests.api.conftest import BASE, STAFF, named, server_of, settings_for

AS_STAFF = Viewer(STAFF, Role.STAFF)
DAYS = ("2026-03-02T00:00Z", "2026-03-03T00:00Z")
WORDS = f"since={DAYS[0]}&until={DAYS[1]}"


@pytest.fixture(scope="module")
def client(people_server: Flask) -> FlaskClient:
    """The same sources, with the files that the pages give beside the API."""
    sources = backing(people_server).sources
    server = server_of(settings_for(), sources)
    add_export(server, "/warp/")
    add_efficiency_export(server, "/warp/")
    return server.test_client()


@pytest.fixture
def run(people_server: Flask, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A command's JSON, on the same sources."""
    sources = backing(people_server).sources
    view = View(sources, AS_STAFF, ZoneInfo(sources.settings.site_timezone), None)
    monkeypatch.setattr("terminal.session.open_view", lambda *_, **__: view)

    def asked(*words: str) -> Any:
        found = CliRunner().invoke(cli.program, [*words, "--json"])
        assert found.exit_code == 0, (found.output, found.exception)
        return json.loads(found.stdout)

    return asked


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("status", ["status"]),
        ("jobs/7", ["job", "7"]),
        ("gpu-efficiency/7", ["efficiency", "7"]),
        ("nodes?limit=1000", ["nodes"]),
        ("jobs?limit=1000", ["jobs", "--limit", "1000"]),
        ("gpu-efficiency?limit=1000", ["efficiency"]),
        (f"reports/user?limit=1000&{WORDS}", ["report", "--since", DAYS[0], "--until", DAYS[1]]),
        (f"metrics?group=user&{WORDS}", ["metrics", "--by", "user", "--since", DAYS[0], "--until", DAYS[1]]),
    ],
)
def test_the_api_and_the_command_say_the_same(client: FlaskClient, run: Any, path: str, words: list[str]) -> None:
    found = client.get(BASE + path, headers=named(STAFF)).json
    assert (found["answer"] if "page" in found else found) == run(*words)


def test_the_api_and_the_file_of_the_page_of_history_say_the_same(client: FlaskClient) -> None:
    page = client.get(f"/warp/efficiency.csv?by=user&{WORDS}", headers=named(STAFF))
    assert page.status_code == 200, page.text
    found = client.get(f"{BASE}reports/user?{WORDS}", headers=named(STAFF)).json["answer"]["rows"]
    columns = ("gpu_hours_allocated", "gpu_hours_wasted", "utilization")
    of_page = {row["user"]: [row[name] and float(row[name]) for name in columns] for row in rows(page.text)}
    assert len(of_page) >= 2
    assert of_page == {
        row["key"]: ["" if row["values"][name] is None else row["values"][name] for name in columns] for row in found
    }


def test_the_api_and_the_file_of_the_list_of_jobs_say_the_same(client: FlaskClient) -> None:
    page = rows(client.get("/warp/jobs.csv?show=running", headers=named(STAFF)).text)
    found = client.get(f"{BASE}jobs?state=RUNNING", headers=named(STAFF)).json["answer"]["rows"]
    of_api = {row["job"]["display_id"]: (row["gpus"], row["utilization"]) for row in found}
    of_page = {row["job"]: (int(row["gpus"]), float(row["gpu_utilization"] or "nan")) for row in page}
    assert of_page.keys() == of_api.keys()
    assert all(str(of_page[name]).replace("nan", "None") == str(of_api[name]) for name in of_page)


def told(people_server: Flask, tool: str, **arguments: Any) -> Any:
    """What a tool of the assistant says to staff of the same sources."""
    sources = backing(people_server).sources
    found = call(Asked(AS_STAFF, sources, sources.clock()), tool, arguments, "call_1")
    assert found.value is not None, found.error
    return found.value


def rounded(value: float | None) -> float | None:
    return None if value is None else pytest.approx(value, rel=1e-5)


def test_the_api_and_the_assistants_tools_say_the_same_of_the_past(client: FlaskClient, people_server: Flask) -> None:
    found = client.get(f"{BASE}reports/user?{WORDS}", headers=named(STAFF)).json["answer"]
    said = told(people_server, "efficiency_report", by="user", since=DAYS[0], until=DAYS[1], limit=50)
    of_tool = {row["user"]: (row["allocated_gpu_hours"], row["utilization_ratio"]) for row in said["groups"]["rows"]}
    of_api = {row["key"]: row["values"] for row in found["rows"]}
    assert of_tool.keys() == of_api.keys() and len(of_tool) >= 2
    for name, values in of_api.items():
        assert of_tool[name] == (rounded(values["gpu_hours_allocated"]), rounded(values["utilization"]))
    assert said["total"]["wasted_gpu_hours"] == rounded(found["total"]["values"]["gpu_hours_wasted"])


def test_the_api_and_the_assistants_tools_say_the_same_of_now(client: FlaskClient, people_server: Flask) -> None:
    status, job, verdict = (
        client.get(f"{BASE}{path}", headers=named(STAFF)).json for path in ("status", "jobs/7", "gpu-efficiency/7")
    )
    gpus = told(people_server, "cluster_status")["gpus"]
    counts = status["totals"]["use"]["gpus"]
    assert (gpus["total"], gpus["held_and_idle"], gpus["free"]) == (counts["total"], counts["idle"], counts["free"])
    report = told(people_server, "job_report", job_id="7")
    assert report["gpu_utilization_ratio"] == rounded(job["report"]["utilization"]["value"])
    assert [one["finding"] for one in report["findings"]["rows"]] == [one["id"] for one in job["findings"]]
    said = told(people_server, "policy_verdict", job_id="7")
    assert (said["status"], said["mean_ratio"], said["why"]) == (
        verdict["verdict"]["status"],
        rounded(verdict["verdict"]["mean"]),
        verdict["verdict"]["sentence"],
    )
