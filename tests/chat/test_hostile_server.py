"""A model server that is broken or hostile: nothing is endless, nothing breaks a turn, no key goes elsewhere."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from chat.characters import begun, whole
from chat.model import Ended, Failed, TextDelta
from chat.model_bounds import MOST_BYTES
from chat.stream import MOST_TEXT
from chat.stream_calls import MOST_CALLS
from data.sources import Sources
from pages._chat_told import Telling
from settings import JudgementSettings
from tests.chat.asked import Told, ask
from tests.services.scripted_llm import Received, Reply, delta, says, scripted_model

CALLED = {"name": "get_weather", "arguments": '{"city": "Bonn"}'}


def told_in_browser(told: Told) -> Telling:
    """The events as the browser gets them: each must go into JSON."""
    telling = Telling("t", "?", "c", datetime(2026, 3, 1, tzinfo=UTC), "/", JudgementSettings(), lambda _: None)
    telling.begin()
    for event in told.events:
        telling.tell(event)
    telling.finish(is_kept=False)
    return telling


def test_half_characters_are_joined_over_pieces_and_lone_ones_replaced(sources: Sources) -> None:
    told = ask([Reply([delta("Fine \ud83d"), delta("\ude00, \ud800 and\0"), delta("\ud83d", finish="stop")])], sources)
    assert isinstance(told.end, Ended)
    assert told.end.text == told.text == "Fine 😀, \ufffd and\ufffd\ufffd"
    assert told_in_browser(told).text == told.end.text


def test_bytes_of_a_terminal_that_are_no_text_are_asked_as_unknown_characters(sources: Sources) -> None:
    told = ask([says("Fine.")], sources, question="Why \udcff?")
    assert told.text == "Fine."
    assert told.model.received[0].question == "Why \ufffd?"


@pytest.mark.parametrize(("text", "half"), [("a\ud83d", "\ud83d"), ("a", ""), ("", ""), ("a\ude00", "")])
def test_only_a_first_half_at_the_end_waits_for_the_next_piece(text: str, half: str) -> None:
    assert begun(text) == half
    whole(text).encode()


@pytest.mark.parametrize(
    "arguments",
    [
        '{"city": ' + "[" * 900 + "]" * 900 + "}",
        '{"city": "' + "x" * 200_000 + '"}',
        "[" * 100_000,
    ],
)
def test_arguments_that_no_tool_has_are_told_and_never_run(arguments: str, sources: Sources) -> None:
    piece = delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": arguments}}])
    told = ask([Reply([piece, delta(finish="tool_calls")]), says("No.")], sources)
    assert told.tools.run == []
    assert "no JSON object" in told.results[0].error
    told_in_browser(told)


def test_half_characters_in_a_call_do_not_break_the_turn(sources: Sources) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "\\ud83d"}'}
    piece = delta(tool_calls=[{"index": 0, "id": "\udc00", "function": function}])
    told = ask([Reply([piece, delta(finish="tool_calls")]), says("Warm.")], sources)
    assert told.tools.run == [("get_weather", {"city": "\ufffd"})]
    told_in_browser(told)


def test_of_ten_thousand_calls_no_more_are_taken_than_any_answer_has(sources: Sources) -> None:
    wanted = [delta(tool_calls=[{"index": place, "id": f"c{place}", "function": CALLED}]) for place in range(10_000)]
    told = ask([Reply([*wanted, delta(finish="tool_calls")]), says("Done.")], sources, calls_per_step=2)
    assert len(told.tools.run) == 2
    assert len(told.results) == MOST_CALLS
    assert isinstance(told.end, Ended)


def test_an_endless_answer_is_cut_and_left(sources: Sources) -> None:
    told = ask([Reply([delta("word " * 2_000)] * 100)], sources)
    assert isinstance(told.end, Ended)
    assert told.end.is_cut
    assert MOST_TEXT < len(told.end.text) < MOST_TEXT + 20_000


def _endless() -> Iterator[bytes]:
    for _ in range(2 * MOST_BYTES // 1_000_000):
        yield b"x" * 1_000_000


@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_end_is_left_at_the_bound(status: int, sources: Sources) -> None:
    pieces: Any = [b"data: ", *_endless()]
    told = ask([Reply(pieces, status=status)], sources)
    assert isinstance(told.end, Failed)
    assert told.end.code == "garbled"
    assert f"{MOST_BYTES:,} bytes" in told.end.hint


def test_a_compressed_answer_is_refused_unread(sources: Sources) -> None:
    bomb = gzip.compress(b"data: " + b"0" * 20_000_000)
    told = ask([Reply([bomb], headers={"Content-Encoding": "gzip"})], sources)
    assert isinstance(told.end, Failed)
    assert told.end.code == "garbled"
    assert told.model.received[0].headers["Accept-Encoding"] == "identity"


def test_a_redirect_is_not_followed_and_names_the_setting(sources: Sources) -> None:
    with scripted_model([says("Mine.")]) as elsewhere:
        to = {"Location": f"{elsewhere.base_url}/chat/completions"}
        told = ask([Reply(status=307, headers=to, body=b"")], sources, api_key="a-key")
        assert elsewhere.received == []
    assert isinstance(told.end, Failed)
    assert (told.end.code, told.end.is_retryable) == ("redirected", False)
    assert "chat.base_url" in told.end.hint


def test_a_server_that_says_the_key_back_shows_it_to_nobody(sources: Sources, caplog: pytest.LogCaptureFixture) -> None:
    def echo(received: Received) -> Reply:
        body = json.dumps({"error": {"message": f"bad: {received.headers['Authorization']}"}})
        return Reply(status=400, body=body.encode())

    told = ask(echo, sources, api_key="a-very-secret-key")
    assert isinstance(told.end, Failed)
    assert "a-very-secret-key" not in told.end.hint + told.end.message + caplog.text
    assert not any(isinstance(event, TextDelta) for event in told.events)
