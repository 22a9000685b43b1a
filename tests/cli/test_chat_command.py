"""`fullwarp chat`: cards as tables, text as it comes, JSON, exit codes; a job's name gives the terminal no orders."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

import cli
from commands.chat import Conversation
from data.errors import BadRequest
from data.model import Viewer
from data.sources import Sources
from settings import Settings
from terminal.chat_values import shown
from terminal.session import View
from tests.chat.small_cluster import ASKED, small_settings, small_sources
from tests.live.builders import FakeScheduler, make_job
from tests.queries.cluster import ALICE, STAFF, nodes, secrets_in
from tests.services.scripted_llm import calls, in_order, says, scripted_model

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
QUESTIONS = (
    "/status", "/job 7", "/series 7", "/why-pending 9", "/verdict 7", "/low", "/compare 7 8", "/jobs", "/jobs finished",
    "/jobs sort=-idle_gpu_hours", "/nodes", "/node gpu01", "/user alice", "/me", "/waste 40d", "/report by user 40d",
    "/metrics", "/wait 40d", "/sbatch 1", "/explain SM", "/docs quota", "/health", "/help",
)  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return small_settings(tmp_path_factory.mktemp("chat"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ask as somebody: exit code, what is on screen, and the error."""
    monkeypatch.setenv("COLUMNS", "100")

    def ask(sources: Sources, *words: str, viewer: Viewer = ALICE) -> tuple[int, str, BaseException | None]:
        view = View(sources, viewer, ZoneInfo("UTC"), None)
        monkeypatch.setattr("terminal.session.open_view", lambda *_, **__: view)
        found = CliRunner().invoke(cli.program, ["chat", *words])
        return found.exit_code, found.stdout, found.exception

    yield ask


def test_every_tool_is_asked_here() -> None:
    assert len(QUESTIONS) >= len(ASKED)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_command_is_shown_within_the_width(asked: Any, small: Settings, question: str) -> None:
    code, text, error = asked(small_sources(small), question)
    assert (code, error) == (0, None), text
    card = text.split("\n\n")[0].splitlines()
    assert question == "/help" or (card[0].endswith(")") and max(map(len, card)) <= 100)
    assert secrets_in(text) == [] and "Traceback" not in text


def test_the_card_of_a_job_is_the_report_of_the_command(asked: Any, small: Settings) -> None:
    _, text, _ = asked(small_sources(small), "/job 7")
    assert "GPU utilization" in text and "Job 7 of alice is RUNNING" in text and "Next: /series 7" in text


def test_staff_see_more_in_the_same_command(asked: Any, small: Settings) -> None:
    assert secrets_in(asked(small_sources(small), "/jobs", viewer=STAFF)[1]) != []


def test_json_has_text_results_and_what_comes_next(asked: Any, small: Settings) -> None:
    code, text, _ = asked(small_sources(small), "--json", "/job", "7")
    found = json.loads(text)
    (result,) = found["results"]
    assert (code, found["error"], found["not_traced"]) == (0, None, [])
    assert (result["tool"], result["page"], result["value"]["job"]) == ("job_report", "/jobs/7", "7")
    assert found["text"].startswith("Job 7 of alice") and "/series 7" in found["suggestions"]


def test_exit_codes_tell_an_answer_from_no_and_from_an_error(asked: Any, small: Settings) -> None:
    sources = small_sources(small)
    assert asked(sources, "/job 7")[0] == 0
    code, text, _ = asked(sources, "/job 90210")
    assert code == 1 and "There is no job 90210, or you may not see it" in text
    _, _, error = asked(sources, "/jbo 7")
    assert isinstance(error, BadRequest) and "Did you mean /job" in error.hint
    _, _, error = asked(sources)
    assert isinstance(error, BadRequest) and "needs a question" in str(error)
    code, text, error = asked(sources, "--json", "/jbo 7")
    assert isinstance(error, BadRequest) and json.loads(text)["error"]["code"] == "command"


def test_a_jobs_name_gives_the_terminal_no_orders(asked: Any, small: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")
    planted = make_job(7, "gpu01", 2, (0, 1), name="\x1b[2J\x07evil\nnext")
    sources = small_sources(small, FakeScheduler(nodes(), [planted]))
    for question in ("/jobs", "/job 7", "/node gpu01"):
        text = asked(sources, question)[1]
        assert "evil" in text and not {"\x1b", "\x07"} & set(text)


def test_the_models_text_comes_with_its_cards_and_without_orders(asked: Any, small: Settings) -> None:
    script = [calls(("job_report", {"job_id": "7"})), says("Job 7 \x1b[31mruns on 2 GPUs. It wasted 999 GPU-hours.")]
    with scripted_model(in_order(script)) as model:
        chat = small.chat.model_validate(
            {**small.chat.model_dump(), "kind": "openai-compatible", "base_url": model.base_url, "model": "scripted"}
        )
        sources = small_sources(small.model_copy(update={"chat": chat}))
        code, text, _ = asked(sources, "how", "is", "7?")
        assert code == 0 and model.received[0].question == "how is 7?"
    assert text.index("job_report(job_id=7)") < text.index("runs on 2 GPUs") and "\x1b" not in text
    assert "Not traced to any result: It wasted 999 GPU-hours." in text


def test_to_stop_an_answer_ends_only_that_question(
    small: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["/job 7", "/job 8", "exit"])
    asked: list[str] = []

    def stopped(question: str, **_: Any) -> bool:
        asked.append(question)
        raise KeyboardInterrupt

    talk = Conversation(View(small_sources(small), ALICE, ZoneInfo("UTC"), None), cli.SCREEN, None)
    monkeypatch.setattr("commands.chat._read", lambda: next(typed))
    monkeypatch.setattr(talk, "ask", stopped)
    talk.talk()
    assert asked == ["/job 7", "/job 8"] and capfd.readouterr().err.count("Stopped.") == 2


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("utilization_ratio", 0.25, "25 %"),
        ("wait_seconds", 3600.0, "1 h"),
        ("memory_bytes", 1 << 30, "1.0 GiB"),
        ("idle_gpu_hours", 12.34, "12.3 GPU-h"),
        ("started_at", "2026-03-10T12:00:00Z", "2026-03-10 12:00 UTC"),
        ("is_shared", False, "no"),
        ("gpus", 8, "8"),
        ("gpus", None, ""),
    ],
)
def test_a_value_is_shown_in_the_unit_of_its_key(key: str, value: Any, words: str) -> None:
    assert shown(key, value) == words


def test_in_a_terminal_questions_are_asked_one_after_another(tmp_path: Path) -> None:
    main, other = pty.openpty()
    environment = {**os.environ, "FULLWARP_CACHE__DIRECTORY": str(tmp_path), "FULLWARP_DEMO__HISTORY_DAYS": "0"}
    environment |= {"COLUMNS": "100", "TERM": "dumb"}
    program = subprocess.Popen(
        [FULLWARP, "--demo", "chat"], stdin=other, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    )
    os.write(main, b"/jbo 1\n/explain SM\nexit\n")
    out, _ = program.communicate(timeout=60)
    os.close(main)
    os.close(other)
    text = out.decode()
    assert program.returncode == 0
    assert "You see what demo may see. No model: commands only." in text
    assert "There is no command /jbo" in text and "SM: Share of cycles" in text
