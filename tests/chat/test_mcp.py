"""The tools for other agents: a real MCP client over both transports, each token its own scope, nothing changed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import mcp.types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

import cli
from chat.mcp_server import make_server, plain_schema
from chat.tools import TOOLS
from data.errors import SettingsError
from data.model import Viewer
from data.sources import Sources
from data.state.store import StateStore, open_store
from data.state.tokens import TokenRole, create_token, revoke_token
from settings import StateSettings
from tests.chat.small_cluster import as_asker
from tests.queries.cluster import ALICE, STAFF, secrets_in
from tests.services.ports import free_port, is_listening

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
STAFF_USER = "sam"
T = TypeVar("T")
# Today's clients, and those that still shake hands first.
MODES = ("auto", "legacy")


def apart(run: Callable[[], Awaitable[T]]) -> T:
    """In a thread of its own: a browser that another test keeps open has an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, run).result()


def ask(client_of: Callable[[], Any], *calls: tuple[str, dict[str, Any]]) -> list[mcp.types.CallToolResult]:
    """The results of the calls, one after another, over one connection."""

    async def run() -> list[mcp.types.CallToolResult]:
        async with client_of() as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return apart(run)


def listed(client_of: Callable[[], Any]) -> list[mcp.types.Tool]:
    async def run() -> list[mcp.types.Tool]:
        async with client_of() as client:
            return list((await client.list_tools()).tools)

    return apart(run)


def within(viewer: Viewer, sources: Sources) -> Callable[[], Any]:
    return lambda: Client(make_server(lambda _: as_asker(viewer, sources)))


def test_the_tools_are_those_of_the_assistant_and_change_nothing(sources: Sources) -> None:
    found = listed(within(STAFF, sources))
    assert [one.name for one in found] == list(TOOLS)
    for one in found:
        assert one.annotations is not None and one.annotations.read_only_hint is True
        assert one.input_schema == plain_schema(TOOLS[one.name]) and one.input_schema["additionalProperties"] is False
    assert next(one for one in found if one.name == "job_report").input_schema["required"] == ["job_id"]


def test_a_result_is_the_tools_value_with_the_page_that_shows_it(sources: Sources) -> None:
    (found,) = ask(within(STAFF, sources), ("job_report", {"job_id": "7"}))
    text = found.content[0]
    assert isinstance(text, mcp.types.TextContent) and json.loads(text.text) == found.structured_content
    assert found.structured_content["job"] == "7" and (found.meta or {})["page"] == "/jobs/7"
    assert found.is_error is False


def test_a_failing_tool_is_a_result_with_words(sources: Sources) -> None:
    hidden, unknown, wrong = ask(
        within(ALICE, sources),
        ("job_report", {"job_id": "90210"}),
        ("delete_everything", {}),
        ("job_report", {"jobid": "7"}),
    )
    said = [one.content[0].text for one in (hidden, unknown, wrong)]  # type: ignore[union-attr]
    assert [one.is_error for one in (hidden, unknown, wrong)] == [True] * 3
    assert said[0].startswith("There is no job 90210, or you may not see it")
    assert said[1].startswith("There is no tool delete_everything")
    assert "job_id is needed" in said[2] and "there is no argument jobid" in said[2]


def test_each_asker_has_their_own_scope(sources: Sources) -> None:
    (mine,), (all_of_it,) = (ask(within(one, sources), ("find_jobs", {})) for one in (ALICE, STAFF))
    assert secrets_in(str(mine)) == [] and secrets_in(str(all_of_it))


@pytest.mark.parametrize("mode", MODES)
def test_over_stdin_and_stdout_the_program_serves_a_real_client(tmp_path: Path, mode: str) -> None:
    variables = {"FULLWARP_CACHE__DIRECTORY": str(tmp_path), "FULLWARP_DEMO__HISTORY_DAYS": "0"}
    server = StdioServerParameters(command=FULLWARP, args=["--demo", "mcp"], env=variables)
    status, gone = ask(lambda: Client(server, mode=mode), ("cluster_status", {}), ("job_report", {"job_id": "1"}))
    assert status.structured_content["gpus"]["total"] == 368 and status.is_error is False
    assert gone.is_error is True


@dataclass
class Listening:
    """The program at `url`, and the store that keeps its tokens."""

    url: str
    store: StateStore

    def token(self, user: str, role: TokenRole) -> tuple[str, str]:
        """Its id and what its holder sends."""
        now = datetime.now(UTC)
        made, sent = create_token(self.store, user, role, now, now + timedelta(days=1))
        return made.id, sent

    def client(self, token: str, mode: str = "auto") -> Callable[[], Any]:
        headers = {"Authorization": f"Bearer {token}"}
        return lambda: Client(
            streamable_http_client(self.url, http_client=httpx2.AsyncClient(headers=headers, timeout=60)), mode=mode
        )

    def status(self, **headers: str) -> tuple[int, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
        forms = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(self.url, body, {**forms, **headers}, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as err:
            text = err.read().decode()
            return err.code, json.loads(text) if text.startswith("{") else text


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    folder = tmp_path_factory.mktemp("mcp")
    port = free_port()
    settings = folder / "fullwarp.toml"
    settings.write_text(
        f"""
        [slurm]
        kind = "simulated"
        [metrics]
        kind = "simulated"
        [identity]
        kind = "header"
        trust_loopback = true
        staff_users = ["{STAFF_USER}"]
        [state]
        directory = "{folder}"
        [cache]
        directory = "{folder / "cache"}"
        [demo]
        history_days = 0
        """,
        encoding="utf-8",
    )
    store = open_store(StateSettings(directory=folder), writes=True)
    assert store is not None
    command = [FULLWARP, "--config", str(settings), "mcp", "--http", f":{port}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.readline()
    assert said == f"MCP at http://127.0.0.1:{port}/mcp\n", said
    threading.Thread(target=process.stderr.read, daemon=True).start()
    assert is_listening(port, process), "the server does not listen"
    yield Listening(f"http://127.0.0.1:{port}/mcp", store)
    process.terminate()
    assert process.wait(20) in (0, -15)


@pytest.mark.parametrize("mode", MODES)
def test_over_http_each_token_has_the_scope_of_its_user(listening: Listening, mode: str) -> None:
    _, staff = listening.token(STAFF_USER, TokenRole.STAFF)
    (everything,) = ask(listening.client(staff, mode), ("find_jobs", {"limit": 50}))
    users = {row["user"] for row in everything.structured_content["jobs"]["rows"]}
    assert len(users) > 5
    name = sorted(users)[0]
    _, own = listening.token(name, TokenRole.USER)
    (mine,) = ask(listening.client(own, mode), ("find_jobs", {"limit": 50}))
    assert {row["user"] for row in mine.structured_content["jobs"]["rows"]} == {name}


def test_a_token_of_the_role_user_makes_nobody_staff(listening: Listening) -> None:
    _, small = listening.token(STAFF_USER, TokenRole.USER)
    (found,) = ask(listening.client(small), ("find_jobs", {}))
    assert found.structured_content["jobs"]["rows_total"] == 0


def test_a_revoked_token_is_refused_at_its_next_request(listening: Listening) -> None:
    token_id, sent = listening.token(STAFF_USER, TokenRole.STAFF)
    assert listening.status(Authorization=f"Bearer {sent}")[0] == 200
    revoke_token(listening.store, token_id, datetime.now(UTC))
    status, said = listening.status(Authorization=f"Bearer {sent}")
    assert status == 401 and "revoked" in said["error"]["message"]


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer fullwarp_000000000000_x", "Basic c2FtOg=="])
def test_without_a_right_token_nothing_is_told(listening: Listening, header: str) -> None:
    status, said = listening.status(**({"Authorization": header} if header else {}), **{"X-Remote-User": STAFF_USER})
    assert (status, said["error"]["code"]) == (401, "unauthorized") and said["error"]["hint"]


def test_a_token_for_watching_the_server_names_nobody(listening: Listening) -> None:
    _, sent = listening.token(STAFF_USER, TokenRole.SCRAPE)
    assert listening.status(Authorization=f"Bearer {sent}")[0] == 401


def test_a_foreign_host_or_page_is_refused(listening: Listening) -> None:
    _, sent = listening.token(STAFF_USER, TokenRole.STAFF)
    right = {"Authorization": f"Bearer {sent}"}
    assert listening.status(**right, Host="evil.example")[0] == 421
    assert listening.status(**right, Origin="http://evil.example")[0] == 403


def run(*words: str) -> tuple[int, BaseException | None]:
    found = CliRunner().invoke(cli.program, ["--demo", "mcp", *words])
    return found.exit_code, found.exception


@pytest.mark.parametrize("place", ["nowhere", "127.0.0.1:0", "127.0.0.1:99999", "http://x:80/y:80"])
def test_a_place_that_is_none_is_named(place: str) -> None:
    _, error = run("--http", place)
    assert f"{place!r} is no place to listen at" in str(error)


def test_without_tokens_it_does_not_listen() -> None:
    _, error = run("--http", "8060")
    assert isinstance(error, SettingsError) and "no store keeps any" in str(error)


def test_without_the_package_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commands.mcp.find_spec", lambda name: None)
    _, error = run()
    assert isinstance(error, SettingsError) and "fullwarp[mcp]" in error.hint
