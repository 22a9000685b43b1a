"""One entry for every turn: commands never ask the model, the model answers the rest, and its absence is survived."""

from __future__ import annotations

from typing import Any

import pytest

from chat.model import Asker, CallEnded, Ended, Event, Failed, Figure, OnScreen
from chat.model_server import ModelServer
from chat.turn import _behind, turn
from data.sources import Sources
from settings import ChatSettings
from tests.chat.small_cluster import as_asker
from tests.queries.cluster import ALICE, STAFF, secrets_in
from tests.services.ports import free_port
from tests.services.scripted_llm import ScriptedModel, calls, fault, in_order, says, scripted_model

NOTHING = OnScreen()


def server_at(base_url: str, **changes: Any) -> ModelServer:
    asked = {"kind": "openai-compatible", "base_url": base_url, "model": "scripted", "retries": 0, **changes}
    return ModelServer(ChatSettings.model_validate(asked))


def ask(asker: Asker, question: str, server: ModelServer | None) -> list[Event]:
    return list(turn(asker, question, NOTHING, (), server))


def tools(events: list[Event]) -> list[str]:
    return [event.result.tool for event in events if isinstance(event, CallEnded)]


@pytest.fixture
def dead() -> ModelServer:
    """A port at which nobody listens."""
    port = free_port()
    return server_at(f"http://127.0.0.1:{port}/v1")


def test_a_command_is_answered_here_and_never_sent(sources: Sources) -> None:
    with scripted_model(in_order([])) as model:
        events = ask(as_asker(ALICE, sources), "/job 7", server_at(model.base_url))
        assert isinstance(events[-1], Ended) and tools(events) == ["job_report"]
        assert model.received == []


def test_the_model_runs_the_same_tools_as_the_one_who_asks(sources: Sources) -> None:
    script = [calls(("find_jobs", {"limit": 50})), says("Two jobs of yours run.")]
    for viewer, is_clean in ((ALICE, True), (STAFF, False)):
        with scripted_model(in_order(script)) as model:
            events = ask(as_asker(viewer, sources), "which jobs run?", server_at(model.base_url))
            assert tools(events) == ["find_jobs"] and isinstance(events[-1], Ended)
            assert (secrets_in(_sent(model)) == []) is is_clean


def _sent(model: ScriptedModel) -> str:
    return " ".join(one.raw.decode() for one in model.received)


def test_what_to_ask_next_comes_from_the_results_without_the_model(sources: Sources) -> None:
    with scripted_model(in_order([calls(("job_report", {"job_id": "7"})), says("It is fine.")])) as model:
        last = ask(as_asker(ALICE, sources), "how is 7?", server_at(model.base_url))[-1]
        assert isinstance(last, Ended) and "/series 7" in last.suggestions
        assert len(model.received) == 2


def test_with_the_server_down_what_is_named_is_still_answered(sources: Sources, dead: ModelServer) -> None:
    events = ask(as_asker(ALICE, sources), "how is job 7?", dead)
    last = events[-1]
    assert isinstance(last, Ended) and tools(events) == ["job_report"]
    assert last.text.startswith("The model server does not answer. ") and "Job 7 of alice" in last.text
    assert all(last.text[one.start : one.end].strip() for one in last.figures) and last.figures
    assert {last.text[one.start : one.end][:1].isdigit() for one in last.figures} == {True}


def test_behind_a_note_every_mark_stands_where_its_words_are() -> None:
    ended = Ended("It used 5 GPUs.", (Figure(8, 9),), ((0, 15),))
    moved = _behind("Down. ", ended)
    assert [moved.text[one.start : one.end] for one in moved.figures] == ["5"]
    assert [moved.text[start:end] for start, end in moved.untraced] == ["It used 5 GPUs."]


def test_with_the_server_down_a_question_that_names_nothing_is_kept_for_later(
    sources: Sources, dead: ModelServer
) -> None:
    (only,) = ask(as_asker(ALICE, sources), "who is the worst?", dead)
    assert isinstance(only, Failed) and (only.code, only.is_retryable) == ("unreachable", True)


@pytest.mark.parametrize(("status", "code"), [(401, "wrong_key"), (503, "server_error")])
def test_a_server_that_refuses_everything_is_as_good_as_down(sources: Sources, status: int, code: str) -> None:
    with scripted_model(in_order([fault(status, "no"), fault(status, "no")])) as model:
        server = server_at(model.base_url, api_key="k")
        assert tools(ask(as_asker(ALICE, sources), "how is job 7?", server)) == ["job_report"]
        (only,) = ask(as_asker(ALICE, sources), "who is the worst?", server)
        assert isinstance(only, Failed) and only.code == code


def test_a_fault_of_the_question_itself_is_not_covered_up(sources: Sources) -> None:
    refusal = fault(400, "maximum context length exceeded", code="context_length_exceeded")
    with scripted_model(in_order([refusal])) as model:
        (only,) = ask(as_asker(ALICE, sources), "how is job 7?", server_at(model.base_url))
        assert isinstance(only, Failed) and only.code == "too_long"


def test_a_turn_that_is_left_leaves_the_server_at_once(sources: Sources) -> None:
    with scripted_model(in_order([says("word " * 200, pause_seconds=0.05)])) as model:
        events = turn(as_asker(ALICE, sources), "tell me all", NOTHING, (), server_at(model.base_url))
        next(events)
        events.close()  # type: ignore[attr-defined]
        assert model.wait_for(lambda seen: seen.left == 1 and seen.under_way == 0)


def test_to_stop_is_heeded_between_tools(sources: Sources) -> None:
    answers = iter([False, True])
    events = list(turn(as_asker(ALICE, sources), "what of 7 and 8?", NOTHING, stop=lambda: next(answers)))
    last = events[-1]
    assert isinstance(last, Ended) and last.is_cut and tools(events) == ["job_report"]
