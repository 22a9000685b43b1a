"""The model loop: text as it comes, several tools at once, limits, retries, and an end at any moment."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from chat.assistant import answer
from chat.model import CallEnded, CallStarted, Ended, Failed, OnScreen, TextDelta, ToolResult, Turn, Usage
from chat.model_server import ModelServer
from data.sources import Sources
from tests.chat.asked import STAFF, Told, ask, chat_settings, recording
from tests.chat.small_cluster import as_asker
from tests.services.scripted_llm import End, Received, Reply, calls, delta, fault, says, scripted_model, usage

BONN, GRAZ = ("get_weather", {"city": "Bonn"}), ("get_weather", {"city": "Graz"})


def test_text_comes_in_pieces_that_make_up_the_answer(sources: Sources) -> None:
    told = ask([says("It is 21 degrees in Bonn.")], sources)
    assert [event.text for event in told.events if isinstance(event, TextDelta)][:2] == ["It ", "is "]
    assert isinstance(told.end, Ended)
    assert told.end.text == told.text == "It is 21 degrees in Bonn."


def test_several_calls_of_one_answer_run_in_order_and_go_back_together(sources: Sources) -> None:
    told = ask([calls(BONN, GRAZ), says("Warm.")], sources)
    kinds = [type(event) for event in told.events[:4]]
    assert kinds == [CallStarted, CallEnded, CallStarted, CallEnded]
    assert told.tools.run == [BONN, GRAZ]
    sent = told.model.received[1].messages
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool", "tool"]
    assert [call["id"] for call in sent[2]["tool_calls"]] == [message["tool_call_id"] for message in sent[3:]]


def test_words_before_a_call_are_a_paragraph_of_their_own(sources: Sources) -> None:
    first = Reply([delta("Let me look."), *calls(BONN).pieces])
    told = ask([first, says("Warm.")], sources)
    assert isinstance(told.end, Ended)
    assert told.end.text == told.text == "Let me look.\n\nWarm."


def test_a_failing_tool_is_a_result_that_the_model_sees(sources: Sources) -> None:
    told = ask([calls(("add", {"n1": "x"})), says("It failed.")], sources)
    assert told.results[0].is_failed
    assert "add:" in told.model.received[1].messages[-1]["content"]
    assert isinstance(told.end, Ended)


def test_ids_that_begin_anew_with_each_answer_are_told_apart(sources: Sources) -> None:
    same = [delta(tool_calls=[{"index": 0, "id": "0", "function": {"name": "llm_version", "arguments": "{}"}}])]
    told = ask([Reply(same), Reply(same), says("Done.")], sources)
    assert [result.call_id for result in told.results] == ["0", "0-2"]


def test_rounds_end_at_the_limit(sources: Sources) -> None:
    told = ask(lambda received: calls(BONN), sources, steps=3)
    assert isinstance(told.end, Failed)
    assert told.end.code == "steps"
    assert len(told.tools.run) == 3
    assert [received.body.get("tool_choice") for received in told.model.received] == [None, None, None, "none"]


def test_calls_beyond_the_limit_of_a_round_are_told_and_not_run(sources: Sources) -> None:
    told = ask([calls(BONN, GRAZ, BONN), says("Done.")], sources, calls_per_step=2)
    assert told.tools.run == [BONN, GRAZ]
    assert "at most 2" in told.results[2].error


def test_a_long_question_is_refused_with_the_limit_before_anything_is_sent(sources: Sources) -> None:
    told = ask([says("?")], sources, question="x" * 200_000)
    assert isinstance(told.end, Failed)
    assert (told.end.code, told.end.is_retryable) == ("question_too_long", False)
    assert "200,000 bytes" in told.end.message
    assert "20,000" in told.end.message
    assert told.model.received == []


@pytest.mark.parametrize("question", ["", "  \n "])
def test_a_question_without_words_is_refused(question: str, sources: Sources) -> None:
    told = ask([says("?")], sources, question=question)
    assert isinstance(told.end, Failed)
    assert told.end.code == "no_question"


def test_the_budget_of_a_conversation_holds_over_its_turns(sources: Sources) -> None:
    history = [Turn("Before?", "Yes.", usage=Usage(4000, 500))]
    told = ask([says("?")], sources, history=history, conversation_tokens=5000)
    assert isinstance(told.end, Failed)
    assert (told.end.code, told.end.is_retryable) == ("budget", False)
    assert told.model.received == []


def test_the_budget_counts_by_length_where_the_server_counts_nothing(sources: Sources) -> None:
    quiet = Reply([*calls(BONN).pieces[:-1]])
    told = ask(lambda received: quiet, sources, conversation_tokens=6000, steps=50)
    assert isinstance(told.end, Failed)
    assert told.end.code == "budget"
    assert 1 < len(told.tools.run) < 10


def test_tokens_of_all_rounds_are_added_up(sources: Sources) -> None:
    told = ask([calls(BONN), Reply([delta("Warm."), delta(finish="stop"), usage(300, 7)])], sources)
    assert isinstance(told.end, Ended)
    assert told.end.usage == Usage(420, 27)


def test_an_answer_that_ran_out_of_tokens_is_marked_as_cut(sources: Sources) -> None:
    told = ask([says("It is", finish="length")], sources)
    assert isinstance(told.end, Ended)
    assert told.end.is_cut


def test_an_answer_whose_stream_just_ends_is_marked_as_cut(sources: Sources) -> None:
    told = ask([Reply([delta("It is")], end=End.QUIET)], sources)
    assert isinstance(told.end, Ended)
    assert told.end.is_cut


def test_thinking_is_not_shown(sources: Sources) -> None:
    pieces = [delta(text) for text in ("<thi", "nk>Let me", " see.</thi", "nk>\n\nIt is", " warm.")]
    told = ask([Reply([*pieces, delta(finish="stop")])], sources)
    assert told.text == "It is warm."


def test_an_answer_in_json_that_is_no_call_is_shown(sources: Sources) -> None:
    told = ask([says('{"city": "Bonn"}')], sources)
    assert told.text == '{"city": "Bonn"}'


def test_a_call_in_tags_behind_words_is_run(sources: Sources) -> None:
    text = 'Let me look. <tool_call>{"name": "get_weather", "arguments": {"city": "Bonn"}}</tool_call>'
    told = ask([says(text), says("Warm.")], sources)
    assert told.tools.run == [BONN]
    assert told.text == "Let me look. \n\nWarm."


def test_load_and_faults_are_retried_after_the_time_that_the_server_asks(sources: Sources) -> None:
    began = time.monotonic()
    told = ask([fault(429, "slow down", retry_after="0.3"), fault(503, "starting"), says("Warm.")], sources, retries=2)
    assert isinstance(told.end, Ended)
    assert len(told.model.received) == 3
    assert time.monotonic() - began >= 0.3


def test_a_used_up_quota_is_not_retried(sources: Sources) -> None:
    told = ask([fault(429, "quota exceeded", code="insufficient_quota"), says("?")], sources, retries=2)
    assert isinstance(told.end, Failed)
    assert told.end.code == "quota"
    assert len(told.model.received) == 1


def test_stop_ends_the_answer_as_it_is_and_leaves_the_server(sources: Sources) -> None:
    shown: list[str] = []
    with scripted_model([Reply([delta("One "), delta("two")], end=End.HANG)]) as model:
        events = answer(
            as_asker(STAFF, sources),
            "Count.",
            OnScreen(),
            [],
            ModelServer(chat_settings(model)),
            lambda: "".join(shown) == "One two",
            recording().toolbox,
        )
        for event in events:
            shown += [event.text] if isinstance(event, TextDelta) else []
            last = event
        assert isinstance(last, Ended)
        assert (last.text, last.is_cut) == ("One two", True)
        assert model.wait_for(lambda seen: seen.left == 1 and seen.under_way == 0)


def test_closing_the_events_leaves_the_server(sources: Sources) -> None:
    with scripted_model([Reply([delta("One")], end=End.HANG)]) as model:
        server = ModelServer(chat_settings(model))
        events = answer(as_asker(STAFF, sources), "Count.", OnScreen(), [], server, lambda: False, recording().toolbox)
        assert isinstance(next(events), TextDelta)
        events.close()  # type: ignore[attr-defined]
        assert model.wait_for(lambda seen: seen.left == 1)


def test_stop_while_waiting_for_a_retry_asks_no_more(sources: Sources) -> None:
    pressed = threading.Event()

    def script(received: Received) -> Reply:
        pressed.set()
        return fault(503, "busy", retry_after="30")

    told = ask(script, sources, retries=5, stop=pressed.is_set)
    assert isinstance(told.end, Ended)
    assert told.end.is_cut
    assert len(told.model.received) == 1


def test_the_time_of_a_turn_is_bounded(sources: Sources) -> None:
    told = ask([Reply([delta("One")], end=End.HANG)], sources, turn_seconds=0.3)
    assert isinstance(told.end, Failed)
    assert told.end.code == "time_out"
    assert "0.3 s" in told.end.message


def test_two_conversations_at_once_do_not_mix(sources: Sources) -> None:
    def script(received: Received) -> Reply:
        return says(f"You asked {received.question}", pause_seconds=0.01)

    told: dict[str, Told] = {}
    with scripted_model(script) as model:
        server = ModelServer(chat_settings(model))

        def one(question: str) -> None:
            asker = as_asker(STAFF, sources)
            events = list(answer(asker, question, OnScreen(), [], server, lambda: False, recording().toolbox))
            told[question] = Told(events, model, recording())

        threads = [threading.Thread(target=one, args=(f"question {number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {question: one.text for question, one in told.items()} == {
        f"question {number}": f"You asked question {number}" for number in range(8)
    }


def test_older_turns_are_left_out_where_the_context_is_short(sources: Sources) -> None:
    result = ToolResult("old", "get_weather", {"city": "Bonn"}, 0.0, {"text": "x" * 6000})
    history = [Turn(f"Question {number}?", f"Answer {number}. " + "y" * 900, (result,)) for number in range(12)]
    told = ask([says("Fine.")], sources, history=history, context_tokens=4000)
    sent = [str(message["content"]) for message in told.model.received[0].messages]
    assert "Question 11?" in sent
    assert "Question 0?" not in sent
    assert len(told.model.received[0].raw) < 4000 * 3.5 + len(str(told.model.received[0].body["tools"])) + 500


def test_results_of_earlier_rounds_are_left_out_where_the_context_is_short(sources: Sources) -> None:
    many: list[tuple[str, dict[str, Any]]] = [("search", {"query": letter * 5000}) for letter in "abc"]
    told = ask([*(calls(one) for one in many), says("Fine.")], sources, context_tokens=6000)
    contents = [message["content"] for message in told.model.received[3].messages if message["role"] == "tool"]
    assert "left out" in contents[0]
    assert "c" * 5000 in contents[2]


def test_what_is_on_screen_and_who_asks_stand_in_the_rules_as_data(sources: Sources) -> None:
    told = ask([says("Fine.")], sources, on_screen=OnScreen("/jobs/7?at=-1h", job="7"))
    first = told.model.received[0].messages[0]
    assert first["role"] == "system"
    assert '"job":"7"' in first["content"]
    assert '"person":"sam"' in first["content"]
    assert '"time":"2026-04-01T00:00' in first["content"]


def test_figures_of_an_answer_are_traced_to_its_results(sources: Sources) -> None:
    text = "It is 21 °C in Bonn. Tomorrow it will be 25 °C."
    told = ask([calls(BONN), says(text)], sources)
    assert isinstance(told.end, Ended)
    assert [(figure.call_id, figure.path) for figure in told.end.figures] == [
        ("call_0_get_weather", "temperature_celsius"),
        ("", ""),
    ]
    [(start, end)] = told.end.untraced
    assert text[start:end] == "Tomorrow it will be 25 °C."


def test_the_model_suggests_what_to_ask_next_only_where_it_is_set(sources: Sources) -> None:
    lines = '1. And the day before?\n- Why is it warm?\nThat is all.\n"What of Graz?"\nWhat of Rome?'
    without = ask([says("Warm.")], sources)
    told = ask(
        [says("Warm."), Reply([delta(lines), delta(finish="stop"), usage(50, 9)])], sources, model_follow_ups=True
    )
    assert isinstance(without.end, Ended)
    assert isinstance(told.end, Ended)
    assert (without.end.suggestions, len(without.model.received)) == ((), 1)
    assert told.end.suggestions == ("And the day before?", "Why is it warm?", "What of Graz?")
    assert told.text == "Warm."
    assert told.end.usage == Usage(150, 10)
    assert "tools" not in told.model.received[1].body


def test_an_answer_stands_though_its_suggestions_fail(sources: Sources) -> None:
    told = ask([says("Warm."), fault(500, "boom")], sources, model_follow_ups=True)
    assert isinstance(told.end, Ended)
    assert (told.end.text, told.end.suggestions) == ("Warm.", ())
