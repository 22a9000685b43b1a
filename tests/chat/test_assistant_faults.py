"""What goes wrong with a model server is one clear line: what, whether to try again, and no secret in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from chat.assistant import answer
from chat.assistant_turn import Toolbox
from chat.model import Failed, OnScreen
from chat.model_server import ModelServer
from data.sources import Sources
from settings import ChatSettings
from tests.chat.asked import STAFF, Recording, ask, recording
from tests.chat.small_cluster import as_asker
from tests.queries.cluster import ALICE
from tests.services.scripted_llm import End, Reply, calls, delta, fault, says

KEY = "sk-test-4711"
GARBAGE = b"data: {not json\n\n"
CASES: dict[str, tuple[list[Reply], dict[str, Any], str, bool]] = {
    "a missing key": ([], {"key": KEY}, "no_key", False),
    "a wrong key": ([], {"key": KEY, "api_key": "sk-other"}, "wrong_key", False),
    "an unknown model": ([], {"model": "gpt-none"}, "unknown_model", False),
    "too long": ([fault(400, "This model's maximum context length is 8192 tokens.")], {}, "too_long", False),
    "too long by code": ([fault(400, "No.", code="context_length_exceeded")], {}, "too_long", False),
    "refused": ([fault(400, "Invalid assistant message")], {}, "refused", True),
    "busy": ([fault(429, "Rate limit reached")], {}, "busy", True),
    "a fault": ([fault(500, "boom")], {}, "server_error", True),
    "no error form": ([Reply(status=502, body=b"<html>Bad gateway</html>")], {}, "server_error", True),
    "cut in the middle": ([Reply([delta("It")], end=End.CUT)], {}, "cut_off", True),
    "garbage": ([Reply([delta("It"), GARBAGE])], {}, "garbled", True),
    "garbage as JSON": ([Reply(body=b"{oops")], {}, "garbled", True),
    "silence in the middle": ([Reply([delta("It")], end=End.HANG)], {"silence_seconds": 0.3}, "time_out", True),
    "an error in the stream": ([Reply([{"error": {"message": "CUDA out of memory"}}])], {}, "server_error", True),
    "an empty stream": ([Reply([])], {}, "empty", True),
    "held back": ([Reply([delta(finish="content_filter")])], {}, "filtered", True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_one_clear_line(name: str, sources: Sources) -> None:
    replies, settings, code, is_retryable = CASES[name]
    told = ask(replies or [says("?")], sources, **settings)
    assert isinstance(told.end, Failed)
    assert (told.end.code, told.end.is_retryable) == (code, is_retryable), told.end
    assert told.end.message.endswith(".")
    assert "\n" not in told.end.message
    assert KEY not in str(told.events)
    assert "sk-other" not in str(told.events)


def test_the_words_of_the_server_are_for_staff(sources: Sources) -> None:
    refusal = [fault(400, "Invalid assistant message at 10.1.2.3")]
    staff, user = ask(refusal, sources), ask(refusal, sources, viewer=ALICE)
    assert isinstance(staff.end, Failed)
    assert isinstance(user.end, Failed)
    assert "Invalid assistant message" in staff.end.hint
    assert "10.1.2.3" not in str(user.events)


def test_a_fault_of_ours_is_a_line_too(sources: Sources) -> None:
    told = ask([calls(("llm_version", {}))], sources, tools=Broken({}))
    assert isinstance(told.end, Failed)
    assert told.end.code == "unexpected"
    assert "boom" not in str(told.events)


class Broken(Recording):
    """Tools of which one breaks its promise never to raise."""

    @property
    def toolbox(self) -> Toolbox:
        def call(*_: object) -> NoReturn:
            raise RuntimeError("boom")

        return Toolbox(recording().toolbox.schemas, call)


def test_a_server_that_is_down_is_named_at_once(sources: Sources) -> None:
    end = last_of(ChatSettings(kind="openai-compatible", base_url="http://127.0.0.1:9/v1", model="m"), sources)
    assert (end.code, end.is_retryable) == ("unreachable", True)


def test_a_key_file_that_cannot_be_read_is_named_to_staff(tmp_path: Path, sources: Sources) -> None:
    settings = ChatSettings(
        kind="openai-compatible", base_url="http://127.0.0.1:9/v1", model="m", api_key_file=tmp_path / "absent"
    )
    end = last_of(settings, sources)
    assert end.code == "not_configured"
    assert "api_key_file" in end.hint


def test_a_key_comes_from_its_file_and_is_read_again_when_it_changes(tmp_path: Path, sources: Sources) -> None:
    from tests.services.scripted_llm import scripted_model

    file = tmp_path / "key"
    file.write_text("old\n", encoding="utf-8")
    with scripted_model(lambda received: says("Fine."), key=KEY) as model:
        settings = ChatSettings(
            kind="openai-compatible", base_url=model.base_url, model="scripted", api_key_file=file, retries=0
        )
        server = ModelServer(settings)
        codes = []
        for text in ("old\n", f"{KEY}\n"):
            file.write_text(text, encoding="utf-8")
            events = list(
                answer(as_asker(STAFF, sources), "?!", OnScreen(), [], server, lambda: False, recording().toolbox)
            )
            codes.append(getattr(events[-1], "code", "ended"))
    assert codes == ["wrong_key", "ended"]


def test_azure_is_asked_in_its_own_way(sources: Sources) -> None:
    from tests.services.scripted_llm import scripted_model

    with scripted_model(lambda received: says("Fine."), key=KEY) as model:
        settings = ChatSettings(
            kind="azure",
            base_url=f"http://127.0.0.1:{model.port}",
            model="scripted",
            api_key=KEY,
            azure_api_version="2024-10-21",
        )
        events = list(
            answer(
                as_asker(STAFF, sources),
                "?!",
                OnScreen(),
                [],
                ModelServer(settings),
                lambda: False,
                recording().toolbox,
            )
        )
    assert getattr(events[-1], "text", events[-1]) == "Fine."
    assert model.received[0].path == "/openai/deployments/scripted/chat/completions?api-version=2024-10-21"


def last_of(settings: ChatSettings, sources: Sources) -> Failed:
    asker = as_asker(STAFF, sources)
    *_, last = answer(asker, "How?", OnScreen(), [], ModelServer(settings), lambda: False, recording().toolbox)
    assert isinstance(last, Failed)
    return last
