"""`fullwarp efficiency --server`: the same output as beside the cluster, and every fault by its name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from click.testing import Result
from flask import Flask, Response
from typer.testing import CliRunner
from werkzeug.serving import make_server

import cli
from data.model import Role, Tres, Viewer
from pages._request import backing
from terminal.session import View
from tests.api.conftest import STAFF, with_a_store
from tests.live.builders import make_job
from tests.policy.test_verdict_scope import idle_everywhere
from tests.queries.cluster import open_fakes, scheduler

Run = Callable[..., Result]


def served(server: Flask) -> Iterator[str]:
    made = make_server("127.0.0.1", 0, server, threaded=True)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.port}/warp"
    made.shutdown()
    thread.join(10)


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[tuple[str, str, Flask]]:
    """A server of a cluster with low jobs, one of them without a time limit, and a token of staff."""
    server, header = with_a_store(tmp_path, STAFF, Role.STAFF)
    slurm = scheduler()
    slurm.job_rows.append(make_job(70, "gpu04", 1, (0,), time_limit_seconds=float("inf"), allocated=Tres(gpus=1)))
    own = backing(server)
    own.opened = replace(open_fakes(slurm, idle_everywhere()), settings=own.settings)
    for url in served(server):
        yield url, header["Authorization"].removeprefix("Bearer "), server


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")

    def asked(*words: str, **variables: str) -> Result:
        return CliRunner().invoke(cli.program, ["efficiency", *words], env=variables)

    return asked


@pytest.mark.parametrize("words", [(), ("7",), ("--json",), ("7", "--json")])
def test_the_output_is_the_same_as_beside_the_cluster(
    remote: tuple[str, str, Flask], run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    url, token, server = remote
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    far = run(*words, "--server", url, "--token-file", str(file))
    assert far.exit_code == 0, (far.output, far.exception)
    sources = backing(server).sources
    zone = ZoneInfo(sources.settings.site_timezone)
    view = View(sources, Viewer(STAFF, Role.STAFF), zone, None)
    monkeypatch.setattr("terminal.session.open_view", lambda *_, **__: view)
    near = run(*words)
    assert near.exit_code == 0 and far.stdout == near.stdout
    assert "low" in far.stdout and ("unlimited" in far.stdout) == (words == ("--json",))
    monkeypatch.setattr("terminal.remote._PAGE", 1)
    by_variables = run(*words, FULLWARP_SERVER=url, FULLWARP_TOKEN=token)
    assert by_variables.stdout == near.stdout


def test_a_job_without_a_verdict_is_no_answer_there_either(remote: tuple[str, str, Flask], run: Run) -> None:
    url, token, _ = remote
    done = run("424242", "--server", url, FULLWARP_TOKEN=token)
    assert "no verdict on job 424242" in str(done.exception)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("fullwarp_" + "0" * 12 + "_" + "a" * 43, "refuses the token"),
        ("two words", "not one word"),
        ("", "needs a token"),
    ],
)
def test_a_wrong_token_is_named(remote: tuple[str, str, Flask], run: Run, token: str, words: str) -> None:
    assert words in str(run("--server", remote[0], FULLWARP_TOKEN=token).exception)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (302, "", "not as Fullwarp does"),
        (200, "<html>Log in</html>", "not as Fullwarp does"),
        (200, '{"answer": {"time": "now"}, "page": {"next": null}}', "cannot be read"),
        (200, '{"answer": {"time": "2026-03-04T12:00:00Z", "verdicts": [], "counts": {}}}', "cannot be read: page"),
        (503, '{"error": {"code": "source", "message": "Slurm is away", "hint": ""}}', "503: Slurm is away"),
    ],
)
def test_an_answer_that_is_none_is_named_and_never_followed(run: Run, status: int, body: str, words: str) -> None:
    server, asked = Flask("login"), []

    @server.get("/<path:path>")
    def answer(path: str) -> Response:
        asked.append(path)
        return Response(body, status, {"Location": "/elsewhere"}, "application/json")

    for url in served(server):
        assert words in str(run("--server", url, FULLWARP_TOKEN="fullwarp_secret").exception)
    assert asked == ["warp/api/v1/gpu-efficiency"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://fullwarp.example.org/", "in the open"),
        ("ftp://host/", "no address"),
        ("nonsense", "no address"),
        ("http://[::1", "no address"),
        ("http://127.0.0.1:x/", "no address"),
        ("http://127.0.0.1:99999/", "no address"),
        ("http://127.0.0.1:9/", "cannot be reached"),
    ],
)
def test_a_wrong_address_is_named_and_gets_no_token(run: Run, url: str, words: str) -> None:
    assert words in str(run("--server", url, FULLWARP_TOKEN="fullwarp_x").exception)


def test_a_token_file_that_cannot_be_read_is_named(run: Run, tmp_path: Path) -> None:
    done = run("--server", "https://host/", "--token-file", str(tmp_path / "none"))
    assert "none cannot be read" in str(done.exception)


def test_the_demo_is_no_server() -> None:
    done = CliRunner().invoke(cli.program, ["--demo", "efficiency", "--server", "https://host/"])
    assert "exclude each other" in str(done.exception)
