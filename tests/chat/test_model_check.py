"""`fullwarp check` says whether the model server answers, takes the key, knows the model, streams and calls tools."""

from __future__ import annotations

from typing import Any

import pytest

from chat.model_check import model_checks
from data.check.result import Verdict
from settings import ChatSettings
from tests.chat.asked import chat_settings
from tests.services.scripted_llm import Received, Reply, calls, fault, says, scripted_model

PING = ("ping", {})


def checked(*replies: Reply, key: str = "", **settings: Any) -> list[tuple[Verdict, str]]:
    with scripted_model(replies, key=key) as served:
        return [(one.verdict, one.text) for one in model_checks(chat_settings(served, **settings))]


def test_without_a_model_nothing_is_said() -> None:
    assert list(model_checks(ChatSettings())) == []


def test_a_server_that_can_be_used_has_two_good_lines() -> None:
    known, called = checked(calls(PING))
    assert known == (Verdict.OK, "the model server 127.0.0.1 answers and knows scripted")
    assert called[0] is Verdict.OK
    assert "streams and calls tools" in called[1]


def test_a_model_that_does_not_call_tools_is_a_problem() -> None:
    assert [verdict for verdict, _ in checked(says("Pong."))] == [Verdict.OK, Verdict.PROBLEM]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"api_key": "sk-other"}, "refuses the key"),
        ({}, "wants a key"),
    ],
)
def test_a_key_that_is_not_taken_ends_the_check(settings: dict[str, str], text: str) -> None:
    [(verdict, said)] = checked(calls(PING), key="sk-4711", **settings)
    assert verdict is Verdict.PROBLEM
    assert text in said


def test_an_unknown_model_is_named_with_those_that_are_there() -> None:
    with scripted_model([]) as served:
        found = list(model_checks(chat_settings(served, model="scriptet")))
    assert [one.verdict for one in found] == [Verdict.NOTE, Verdict.PROBLEM]
    assert "scripted" in found[0].fix[0]
    assert "does not know the model" in found[1].text


def test_a_server_that_does_not_answer_is_a_problem() -> None:
    [found] = model_checks(ChatSettings(kind="openai-compatible", base_url="http://127.0.0.1:9/v1", model="m"))
    assert (found.verdict, found.text) == (Verdict.PROBLEM, "The model server does not answer.")


def test_a_refusal_of_tools_is_told_in_the_words_of_the_server() -> None:
    def script(received: Received) -> Reply:
        return fault(400, '"auto" tool choice requires --enable-auto-tool-choice')

    with scripted_model(script) as served:
        *_, found = model_checks(chat_settings(served))
    assert found.verdict is Verdict.PROBLEM
    assert any("--enable-auto-tool-choice" in line for line in found.fix)
