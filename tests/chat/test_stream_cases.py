"""What servers with the OpenAI API really send for tool calls: every reference case behaves as its `right` says.

F23, F25 and F27 are about what we send, so they look at the request that the server received.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat.model import Ended, Failed, Turn
from data.sources import Sources
from tests.chat.asked import Told, ask, recording
from tests.services.scripted_llm import End, Reply, calls, delta, says, whole

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "llm_tool_calls.json"
Given = Any
Check = Callable[[Given, Sources], None]
CHECKS: dict[str, Check] = {}


def case(*names: str) -> Callable[[Check], Check]:
    def kept(check: Check) -> Check:
        CHECKS.update(dict.fromkeys(names, check))
        return check

    return kept


def given_cases() -> dict[str, Given]:
    if not CASES.is_file():
        return {}
    return {row["id"]: row for row in json.loads(CASES.read_text(encoding="utf-8"))["cases"]}


@pytest.mark.parametrize("name", sorted(given_cases()) or ["absent"])
def test_a_reference_case_behaves_as_it_should(name: str, sources: Sources) -> None:
    if name == "absent":
        pytest.skip(f"no reference data at {CASES}")
    CHECKS[name](given_cases()[name].get("given"), sources)


def test_every_reference_case_is_looked_at() -> None:
    assert set(given_cases()) <= set(CHECKS)


def after(chunks: Given, sources: Sources, **more: Any) -> Told:
    """The chunks of a case as the first answer, then one in words."""
    return ask([Reply(chunks), says("Done.")], sources, **more)


def tool_call(name: str | None, arguments: Any, **fields: Any) -> dict[str, Any]:
    function = ({} if name is None else {"name": name}) | {"arguments": arguments}
    return delta(tool_calls=[{"type": "function", "function": function} | fields])


@case("F01")
def null_arguments_are_an_empty_fragment(given: Given, sources: Sources) -> None:
    told = after(given, sources, tools=recording(add="sum"))
    assert told.tools.run == []
    assert "n1" in told.results[0].error
    assert told.results[0].is_failed
    assert isinstance(told.end, Ended)


@case("F03")
def unreadable_arguments_are_never_run(given: Given, sources: Sources) -> None:
    broken = [tool_call("glob", 'path":"/tmp","pattern":"*"}', index=0, id="a"), delta(finish="tool_calls")]
    told = after(broken, sources)
    assert told.tools.run == []
    assert "glob" in told.results[0].error
    assert "no JSON object" in str(told.model.received[1].messages[-1]["content"])


@case("F05")
def one_call_from_two_fragments(given: Given, sources: Sources) -> None:
    assert after(given, sources).tools.run == [("glob", {"path": "/tmp", "pattern": "*"})]


@case("F07")
def two_ids_at_one_index_are_two_calls(given: Given, sources: Sources) -> None:
    run = after(given, sources).tools.run
    assert [(name, arguments["filePath"]) for name, arguments in run] == [
        ("file_write", "hello.py"),
        ("file_write", "world.py"),
    ]


@case("F09")
def dict_arguments_and_the_end_stop_still_run(given: Given, sources: Sources) -> None:
    chunks = [
        tool_call("get_weather", {"city": "Bonn"}, index=0) | {"id": "chatcmpl-1"},
        tool_call("get_weather", {"city": "Graz"}, index=0) | {"id": "chatcmpl-2"},
        delta(finish="stop") | {"id": "chatcmpl-3"},
    ]
    assert after(chunks, sources).tools.run == [("get_weather", {"city": "Bonn"}), ("get_weather", {"city": "Graz"})]


@case("F11", "F35")
def calls_run_though_the_end_says_stop(given: Given, sources: Sources) -> None:
    for finish in ("tool_calls", "stop"):
        chunks = [tool_call("llm_version", "{}", index=0, id="v"), delta(finish=finish)]
        told = after(chunks, sources)
        assert told.tools.run == [("llm_version", {})]
        assert isinstance(told.end, Ended)


@case("F13")
def a_choice_without_an_end_is_no_error(given: Given, sources: Sources) -> None:
    told = ask([Reply(given, end=End.QUIET), says("Done.")], sources)
    [(name, arguments)] = told.tools.run
    assert (name, arguments["offset"], arguments["limit"]) == ("read", 1, 100)
    assert arguments["path"].endswith("SKILL.md")
    assert isinstance(told.end, Ended)


@case("F15")
def unknown_ends_are_borne(given: Given, sources: Sources) -> None:
    for finish in given:
        chunks = [tool_call("llm_version", "", index=0, id="v"), delta(finish=finish)]
        assert after(chunks, sources).tools.run == [("llm_version", {})]
        told = ask([Reply([delta("Fine."), delta(finish=finish)])], sources)
        assert isinstance(told.end, Ended)
        assert told.text == "Fine."


@case("F17")
def blank_arguments_are_none_given(given: Given, sources: Sources) -> None:
    for blank in given:
        told = after([tool_call("llm_version", blank, index=0, id="v")], sources)
        assert told.tools.run == [("llm_version", {})]


@case("F19")
def a_call_that_leaked_as_text_is_run_or_named(given: Given, sources: Sources) -> None:
    message = given["choices"][0]["message"]
    known = ask([whole(message, finish=None), says("Done.")], sources)
    assert known.tools.run == [("search", {"query": "北京今天的天气"})]
    unknown = message | {"content": message["content"].replace("search", "web_search")}
    told = ask([whole(unknown, finish=None)], sources)
    assert isinstance(told.end, Failed)
    assert told.end.code == "not_called"
    assert "{" not in told.text


@case("F21")
def an_empty_answer_is_named(given: Given, sources: Sources) -> None:
    told = ask([Reply(body=json.dumps(given).encode())], sources)
    assert isinstance(told.end, Failed)
    assert (told.end.code, told.end.is_retryable) == ("empty", True)
    assert len(told.model.received) == 1


@case("F23")
def no_empty_answer_is_ever_sent(given: Given, sources: Sources) -> None:
    first, _, second = given["messages"]
    told = ask([says("Done.")], sources, question=second["content"], history=[Turn(first["content"], "")])
    roles = [message["role"] for message in told.model.received[0].messages]
    assert roles == ["system", "user", "user"]


@case("F25")
def content_goes_with_tool_calls_as_set(given: Given, sources: Sources) -> None:
    for setting, content in (("null", None), ("empty", "")):
        told = ask([calls(("llm_version", {})), says("Done.")], sources, empty_content=setting)
        [asking] = [message for message in told.model.received[1].messages if "tool_calls" in message]
        assert "content" in asking
        assert asking["content"] == content


@case("F27")
def arguments_are_written_anew_before_they_are_sent_again(given: Given, sources: Sources) -> None:
    raw, broken = '{"query":"two\nlines"}', '{"query":"C:\\qx"}'
    chunks = [tool_call("search", raw, index=0, id="a"), tool_call("search", broken, index=1, id="b")]
    told = after([*chunks, delta(finish="tool_calls")], sources)
    [asking] = [message for message in told.model.received[1].messages if "tool_calls" in message]
    sent = [json.loads(call["function"]["arguments"]) for call in asking["tool_calls"]]
    assert sent == [{"query": "two\nlines"}, {}]
    assert told.tools.run == [("search", {"query": "two\nlines"})]


@case("F29")
def arguments_come_as_an_object_or_as_text(given: Given, sources: Sources) -> None:
    for arguments in given:
        told = after([tool_call("get_weather", arguments, index=0, id="w")], sources)
        assert told.tools.run == [("get_weather", {"city": "New York"})]


@case("F31")
def an_index_of_null_is_none(given: Given, sources: Sources) -> None:
    chunks = [
        tool_call("get_weather", '{"city":', index=None, id="w"),
        tool_call(None, ' "Bonn"}', index=None),
        tool_call("llm_version", "{}", index=None, id="v"),
    ]
    assert after(chunks, sources).tools.run == [("get_weather", {"city": "Bonn"}), ("llm_version", {})]


@case("F33")
def an_unknown_tool_is_refused_and_shown(given: Given, sources: Sources) -> None:
    told = after([tool_call("rm_rf", "{}", index=0, id="x")], sources)
    assert told.tools.run == []
    assert "unknown tool" in told.results[0].error
    assert "unknown tool" in str(told.model.received[1].messages[-1]["content"])


@case("F37")
def calls_without_arguments_come_in_three_ways(given: Given, sources: Sources) -> None:
    variants = {
        "b": [tool_call("llm_version", "{}", index=0, id="0")],
        "c": [tool_call("llm_version", "", index=0, id="0"), tool_call(None, "{}", index=0)],
        "d": [tool_call("llm_version", None, index=0, id="0"), tool_call(None, None, index=0, id="0")],
    }
    for chunks in variants.values():
        assert after(chunks, sources).tools.run == [("llm_version", {})]
