"""Shapes of streams that users of other clients reported, each with the calls and the text that are meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chat.model import Ended
from chat.stream import Gathered
from data.sources import Sources
from tests.chat.asked import ask
from tests.services.scripted_llm import Reply, delta

TOOLS = {"get_time"}
CALL = '{"name": "get_job", "arguments": {"job": 7}}'
JOB = ("get_job", {"job": 7})


def piece(arguments: Any = None, name: str | None = None, **fields: Any) -> dict[str, Any]:
    """A fragment of a call; index 0 unless it says otherwise."""
    return {"index": 0, "function": {"name": name, "arguments": arguments}, **fields}


def gathered(*chunks: Mapping[str, Any]) -> tuple[str, Gathered]:
    found = Gathered(TOOLS)
    shown = "".join([*(found.add(chunk) for chunk in chunks), found.end()])
    return shown, found


@pytest.mark.parametrize(
    "pieces",
    [
        # MLX servers: an id made up for every fragment, with the name or without.
        [piece('{"job"', "get_job", id="a"), piece(": 7}", "get_job", id="b")],
        [piece('{"job"', "get_job", id="a"), piece(": 7}", id="b")],
        # Bedrock and Claude behind a proxy: an empty object, then the real one.
        [piece("{}", "get_job", id="a"), piece('{"job": 7}')],
        [piece({}, "get_job", id="a"), piece('{"job": 7}')],
        # Proxies that send the whole arguments once more at the end, as they are or as JSON in JSON.
        [piece('{"job": ', "get_job", id="a"), piece("7}"), piece('{"job": 7}', "get_job", id="a")],
        [piece('{"job": 7}', "get_job", id="a"), piece(r'"{\"job\": 7}"', "get_job", id="a")],
        [piece('{"job": 7}{"job": 7}{"job": 7}', "get_job", id="a")],
        # Everything so far anew with every fragment.
        [piece('{"job"', "get_job", id="a"), piece('{"job": 7', id="a"), piece('{"job": 7}', id="a")],
        # Arguments before the name.
        [piece('{"job"', id="a"), piece(": 7}", "get_job", id="a")],
    ],
)
def test_one_call_in_odd_fragments_is_one_call(pieces: list[dict[str, Any]]) -> None:
    _, found = gathered(*(delta(tool_calls=[each]) for each in pieces))
    assert [(call.name, call.arguments) for call in found.calls] == [JOB]


@pytest.mark.parametrize(
    "pieces",
    [
        # The head of the second call at the index of the first, its tail at its own.
        [piece('{"job": 7}', "get_job", id="a"), piece("", "get_node", id="b"), piece('{"node": "n1"}', index=1)],
        # Indices as text.
        [
            piece("", "get_job", id="a", index="0"),
            piece("", "get_node", id="b", index="1"),
            piece('{"job": 7}', index="0"),
            piece('{"node": "n1"}', index="1"),
        ],
    ],
)
def test_fragments_find_their_call_though_the_index_is_odd(pieces: list[dict[str, Any]]) -> None:
    _, found = gathered(*(delta(tool_calls=[each]) for each in pieces))
    assert [(call.name, call.arguments) for call in found.calls] == [JOB, ("get_node", {"node": "n1"})]


def test_calls_of_older_servers_and_a_call_that_is_no_list_are_calls() -> None:
    older = delta(function_call={"name": "get_job", "arguments": '{"job": 7}'}, finish="function_call")
    for chunk in (older, delta(tool_calls=piece('{"job": 7}', "get_job"))):
        assert [(call.name, call.arguments) for call in gathered(chunk)[1].calls] == [JOB]


@pytest.mark.parametrize("arguments", ['{"job": NaN}', '{"job": 1e999}', '{"job": 7}{"job": 8}', '{"job": 7}<|end|>'])
def test_arguments_that_are_not_one_json_object_are_never_guessed(arguments: str) -> None:
    _, found = gathered(delta(tool_calls=[piece(arguments, "get_job")]))
    assert [call.arguments for call in found.calls] == [None]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>", [JOB, JOB]),  # Hermes and Qwen
        (f"[TOOL_CALLS][{CALL}]", [JOB]),  # Mistral
        ('<|python_tag|>{"name": "get_job", "parameters": {"job": 7}}<|eom_id|>', [JOB]),  # Llama 3
        ('<function=get_job>{"job": 7}</function>', [JOB]),  # Llama 3.1
        (
            "<tool_call>\n<function=get_job>\n<parameter=job>\n7\n</parameter>\n</function>\n</tool_call>",
            [JOB],
        ),  # Qwen3
        ("<function= is no call", []),
    ],
)
def test_calls_in_the_marks_of_models_are_calls_and_never_shown(text: str, calls: list[Any]) -> None:
    for chunks in ([delta(text)], [delta(letter) for letter in "Look: " + text]):
        shown, found = gathered(*chunks)
        assert [(call.name, call.arguments) for call in found.leaked] == calls
        assert shown.removeprefix("Look: ") == ("" if calls else text)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"{CALL} {CALL}", [JOB, JOB]),  # Ollama: no list around several
        ('{"name": "get_time"}', [("get_time", {})]),  # Ollama: nothing for a call without arguments
        ('{"name": "alice"}', []),  # an answer in JSON
    ],
)
def test_an_answer_in_json_is_a_call_where_it_names_a_tool(text: str, calls: list[Any]) -> None:
    shown, found = gathered(delta(text))
    assert [(call.name, call.arguments) for call in found.leaked] == calls
    assert shown == ("" if calls else text)


@pytest.mark.parametrize("name", ["get_time", "get_job"])
@pytest.mark.parametrize(
    "form", ['{{"name": "{}", "arguments": {{}}}}', '```json\n{{"name": "{}", "arguments": {{}}}}\n```']
)
def test_a_call_behind_prose_is_one_where_it_names_a_tool(form: str, name: str) -> None:
    # Small models announce a call in words and then write it; of any other name it is part of the answer.
    text = f"Let me look.\n\n{form.format(name)}"
    _, found = gathered(delta(text))
    is_tool = name in TOOLS
    assert [call.name for call in found.leaked] == ([name] if is_tool else [])
    assert found.answer == ("Let me look." if is_tool else text)


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        # A last chunk that repeats the whole message.
        (
            [delta("Hel"), delta("lo"), {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}],
            "Hello",
        ),
        # Messages instead of deltas.
        ([{"choices": [{"message": {"content": text}}]} for text in ("Hel", "lo")], "Hello"),
        ([delta(refusal="I may not say."), delta(finish="stop")], "I may not say."),
    ],
)
def test_text_comes_once_and_a_refusal_is_text(chunks: list[dict[str, Any]], text: str) -> None:
    assert gathered(*chunks)[0] == text


@pytest.mark.parametrize(
    "said",
    [
        # Templates of reasoning models begin the thought themselves, so that only its end is streamed.
        "They ask for idle GPUs.</think>\n\nThree are idle.",
        "<think>a</think>Three <think>b</think>are idle.",
    ],
)
def test_thinking_is_no_part_of_the_answer(said: str, sources: Sources) -> None:
    told = ask([Reply([delta(letter) for letter in said] + [delta(finish="stop")])], sources)
    assert isinstance(told.end, Ended)
    assert told.end.text == "Three are idle."
