"""The assistant as a site serves it: nginx, a sub-path, two workers with one store, a model server that streams."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pages._chat_routes import HEADER, HEADER_VALUE
from tests.services.nginx import nginx
from tests.services.ports import free_port
from tests.services.scripted_llm import End, Received, Reply, ScriptedModel, delta, says, scripted_model
from tests.services.viewers import basic
from tests.services.whole_site import FULLWARP

PREFIX = "/tools/fullwarp/"


@dataclass
class ChatSite:
    port: int
    model: ScriptedModel
    replies: list[Reply] = field(default_factory=list)

    def asked(self, question: str, conversation: str = "") -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {HEADER: HEADER_VALUE, "Content-Type": "application/json", "Authorization": basic("alice")}
        body = json.dumps({"question": question, "conversation": conversation})
        connection.request("POST", f"{PREFIX}_chat/ask", body, headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        return answer


def events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    while line := answer.readline():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


@pytest.fixture(scope="module")
def chat_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatSite]:
    folder, inner, outer = tmp_path_factory.mktemp("chat-site"), free_port(), free_port()
    (folder / "nginx").mkdir()
    replies: list[Reply] = []

    def script(_: Received) -> Reply:
        return replies.pop(0) if replies else says("Nothing more is written down.")

    with scripted_model(script) as model:
        variables = {
            "CHAT__KIND": "openai-compatible", "CHAT__BASE_URL": model.base_url, "CHAT__MODEL": "scripted",
            "STATE__DIRECTORY": str(folder / "state"), "CACHE__DIRECTORY": str(folder / "cache"),
            "SERVE__URL_PREFIX": PREFIX, "DEMO__HISTORY_DAYS": "0",
        }  # fmt: skip
        environment = os.environ | {f"FULLWARP_{name}": value for name, value in variables.items()}
        command = [FULLWARP, "demo", "--bind", f"127.0.0.1:{inner}"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            _wait(inner, server, folder / "log")
            with nginx(folder / "nginx", outer, PREFIX, [f"127.0.0.1:{inner}"], ["alice"]):
                yield ChatSite(outer, model, replies)
        finally:
            server.terminate()
            server.wait(30)


def _wait(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", f"{PREFIX}healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_words_come_while_the_model_still_speaks_and_who_leaves_stops_it(chat_site: ChatSite) -> None:
    """Nothing on the way waits for the end: the end never comes."""
    chat_site.replies[:] = [Reply([delta("", role="assistant"), delta("The first words. ")], end=End.HANG)]
    answer, left = chat_site.asked("Go on for ever"), chat_site.model.left
    for event in events(answer):
        if event["kind"] == "delta":
            break
    assert event["text"] == "The first words. "
    answer.close()
    assert chat_site.model.wait_for(lambda model: model.left == left + 1, 20)


def test_any_worker_goes_on_with_a_conversation(chat_site: ChatSite) -> None:
    chat_site.replies[:] = [says(f"Answer {number}.") for number in range(7)]
    told = list(events(chat_site.asked("What is the word? It is xylophone.")))
    conversation = told[0]["conversation"]
    for number in range(1, 7):
        told = list(events(chat_site.asked(f"And now, {number}?", conversation)))
        assert told[-1]["said"] == f"Answer {number}." and told[-1]["is_kept"]
        sent = str(chat_site.model.received[-1].messages)
        assert "xylophone" in sent and f"Answer {number - 1}." in sent
