"""Without a model: commands, plain questions that name something, what is said of the results and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from chat.checker import check
from chat.command_table import BY_NAME, COMMANDS
from chat.commands import read_command
from chat.model import Asker, CallEnded, CallStarted, Ended, Event, Failed, OnScreen, TextDelta, ToolResult
from chat.plain import understood
from chat.sentences import sentence
from chat.suggest import MOST, suggestions
from chat.tools import TOOLS, call
from chat.turn import turn
from data.errors import BadRequest
from data.model import Viewer
from data.settings_file import demo_settings
from data.sources import Sources, open_sources
from settings import Settings
from tests.chat.small_cluster import ASKED, as_asker, small_sources
from tests.live.builders import FakeScheduler, make_job
from tests.queries.cluster import ALICE, STAFF, nodes, secrets_in

NOTHING = OnScreen()
# Durations are cut and not rounded, so that some of them are no rounding of the result's seconds.
CUT = (" s", " min", " h", " d")


def ask(sources: Sources, question: str, viewer: Viewer = ALICE, on_screen: OnScreen = NOTHING) -> list[Event]:
    return list(turn(as_asker(viewer, sources), question, on_screen))


def results(events: Sequence[Event]) -> list[ToolResult]:
    return [event.result for event in events if isinstance(event, CallEnded)]


def wanted(question: str, on_screen: OnScreen = NOTHING) -> tuple[str, dict[str, Any]]:
    found = read_command(question, on_screen)
    assert found is not None
    return found.tool, dict(found.arguments)


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("/job 123", "job_report", {"job_id": "123"}),
        ("  /JOB   123_4  ", "job_report", {"job_id": "123_4"}),
        ("/why 9", "why_pending", {"job_id": "9"}),
        ("/why-pending 9", "why_pending", {"job_id": "9"}),
        ("/waste", "waste_ranking", {}),
        ("/waste week", "waste_ranking", {"since": "7d"}),
        ("/waste 36h by job", "waste_ranking", {"by": "job", "since": "36h"}),
        ("/waste by job week user=alice limit=5", "waste_ranking",
         {"by": "job", "since": "7d", "user": "alice", "limit": "5"}),
        ("/report by partition month", "efficiency_report", {"by": "partition", "since": "30d"}),
        ("/report partition", "efficiency_report", {"by": "partition"}),
        ("/user alice since=week", "user_efficiency", {"user": "alice", "since": "7d"}),
        ("/me quarter", "user_efficiency", {"since": "90d"}),
        ("/status", "cluster_status", {}),
        ("/status gpu", "cluster_status", {"partition": "gpu"}),
        ("/compare 1 2", "compare_jobs", {"job_id": "1", "other_job_id": "2"}),
        ("/explain a = b c", "explain", {"term": "a = b c"}),
        ("/docs what is the quota?", "site_documents", {"words": "what is the quota?"}),
        ("/low", "policy_verdicts", {"status": "low"}),
        ("/low alice", "policy_verdicts", {"status": "low", "user": "alice"}),
        ("/sbatch 8 h100 hours=2", "sbatch_advice", {"gpus": "8", "gpu_type": "h100", "hours": "2"}),
    ],
)  # fmt: skip
def test_a_commands_words_are_the_arguments_of_its_tool(question: str, tool: str, arguments: dict[str, Any]) -> None:
    assert wanted(question) == (tool, arguments)


@pytest.mark.parametrize(
    ("question", "words", "hint"),
    [
        ("/jbo 1", "There is no command /jbo", "Did you mean /job"),
        ("/waist week", "There is no command /waist", "/waste"),
        ("/ ", "There is no command /", "/help lists all"),
        ("/job", "/job needs job_id", "Write /job ID."),
        ("/compare 1", "/compare needs other_job_id", "Write /compare ID ID."),
        ("/job 1 2", "/job: 2 is one word too many", "Write /job ID."),
        (f"/docs {'x ' * 90}", "/docs: too many words", "Write /docs WORDS."),
    ],
)
def test_what_is_no_whole_command_is_said_with_what_to_write(question: str, words: str, hint: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_command(question, NOTHING)
    assert words in str(caught.value) and hint in caught.value.hint


def test_what_is_not_said_is_what_the_page_shows() -> None:
    assert wanted("/job", OnScreen(job="7")) == ("job_report", {"job_id": "7"})
    assert wanted("/node", OnScreen(node="gpu01")) == ("node", {"name": "gpu01"})
    assert wanted("/user", OnScreen(user="alice")) == ("user_efficiency", {"user": "alice"})
    assert wanted("/job 8", OnScreen(job="7")) == ("job_report", {"job_id": "8"})


def test_every_commands_tool_and_arguments_are_there() -> None:
    for one in COMMANDS:
        if one.tool:
            known = TOOLS[one.tool].schema["properties"]
            assert {*one.words, *one.needed, *one.fixed} <= set(known), one.name
            assert not one.has_period or "since" in known
            assert not one.has_by or "by" in known
    assert len(BY_NAME) == sum(1 + len(one.aliases) for one in COMMANDS)


def test_numbers_of_a_command_are_taken_as_numbers(sources: Sources) -> None:
    (found,) = results(ask(sources, "/jobs finished days=7 limit=3"))
    assert found.error == "" and found.value is not None and found.value["days"] == 7


def test_help_names_every_command(sources: Sources) -> None:
    last = ask(sources, "/help")[-1]
    assert isinstance(last, Ended) and all(f"`{one.usage}`" in last.text for one in COMMANDS)


def test_a_command_gives_the_events_of_any_turn(sources: Sources) -> None:
    events = ask(sources, "/job 7")
    assert [type(event) for event in events] == [CallStarted, CallEnded, TextDelta, Ended]
    started, ended = events[0], events[-1]
    assert isinstance(started, CallStarted) and isinstance(ended, Ended)
    assert results(events)[0].call_id == started.call_id
    assert ended.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert ended.text.startswith("Job 7 of alice is RUNNING")


def test_a_job_of_another_is_answered_as_one_that_does_not_exist(sources: Sources) -> None:
    hers, nobodys = (ask(sources, f"/job {one}")[-1] for one in ("90210", "424242"))
    assert isinstance(hers, Ended) and isinstance(nobodys, Ended)
    assert hers.text.replace("90210", "424242") == nobodys.text


@pytest.mark.parametrize("question", ["", "  \n ", "x" * 30_000])
def test_no_question_and_one_beyond_the_limit_are_refused(sources: Sources, question: str) -> None:
    (only,) = ask(sources, question)
    assert isinstance(only, Failed) and only.is_retryable is False


@pytest.mark.parametrize(
    ("question", "tools"),
    [
        ("what about job 7?", [("job_report", "7")]),
        ("is 7 or 8 better", [("job_report", "7"), ("job_report", "8")]),
        ("compare 7 and 8", [("compare_jobs", "7")]),
        ("why is 9 pending?", [("why_pending", "9")]),
        ("and 9?", [("job_report", "9")]),
        ("Is GPU01 fine", [("node", "gpu01")]),
        ("how did alice do", [("user_efficiency", "alice")]),
        ("job 424242 and gpu04.", [("job_report", "424242"), ("node", "gpu04")]),
        ("90210", [("job_report", "90210")]),
        ("what did mallory do", []),
        ("give me 3 GPUs at 80 % for 2.5 h", []),
        ("how are you", []),
    ],
)
def test_a_plain_question_is_answered_for_what_it_names(
    sources: Sources, question: str, tools: list[tuple[str, str]]
) -> None:
    found = understood(as_asker(ALICE, sources), question, NOTHING)
    assert [(one.tool, next(iter(one.arguments.values()))) for one in found] == tools


def test_this_job_is_the_one_on_screen(sources: Sources) -> None:
    asker = as_asker(ALICE, sources)
    assert understood(asker, "is this job ok?", OnScreen(job="7"))[0].arguments == {"job_id": "7"}
    assert understood(asker, "is this node ok?", OnScreen(node="gpu01"))[0].arguments == {"name": "gpu01"}
    assert understood(asker, "is this job ok?", NOTHING) == ()


def test_a_question_that_names_nothing_says_what_can_be_asked(sources: Sources) -> None:
    last = ask(sources, "how are you")[-1]
    assert isinstance(last, Ended) and "/help" in last.text and last.suggestions


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_a_sentence_and_it_names_nobody_else(sources: Sources, tool: str) -> None:
    said = sentence(call(as_asker(ALICE, sources), tool, ASKED[tool], "call_1"))
    assert said and said[-1] in ".`”" and secrets_in(said) == []


def test_a_failed_result_says_why_and_what_to_do(sources: Sources) -> None:
    found = call(as_asker(ALICE, sources), "job_report", {"job_id": "424242"}, "call_1")
    assert sentence(found) == (
        "There is no job 424242, or you may not see it. Check the number; see your jobs in the list."
    )


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("/status gup", "There is no partition gup. Such as "),
        ("/jobs pending user=nobody", "No waiting job that you may see fits."),
        ("/waste limit=0", "waste_ranking: limit = '0': input should be "),
        ("/status at=2026-03-10T11:00", "Cluster demo at 2026-03-10 11:00 UTC: "),
    ],
)
def test_what_is_said_is_a_whole_sentence(sources: Sources, question: str, words: str) -> None:
    last = ask(sources, question)[-1]
    assert isinstance(last, Ended) and last.text.startswith(words)


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_suggested_is_a_command_that_is_understood(sources: Sources, tool: str) -> None:
    found = suggestions([call(as_asker(ALICE, sources), tool, ASKED[tool], "call_1")])
    assert len(found) <= MOST and secrets_in(" ".join(found)) == []
    for one in found:
        read = read_command(one, NOTHING)
        assert read is None or call(as_asker(ALICE, sources), read.tool, read.arguments, "x").tool in TOOLS


def test_what_was_asked_is_not_suggested_again(sources: Sources) -> None:
    asker = as_asker(ALICE, sources)
    report = call(asker, "job_report", {"job_id": "7"}, "call_1")
    assert "/series 7" in suggestions([report])
    assert "/series 7" not in suggestions([call(asker, "job_series", {"job_id": "7"}, "call_2"), report])


def test_a_job_name_that_looks_like_a_command_stays_a_name(small: Settings) -> None:
    planted = make_job(7, "gpu01", 2, (0, 1), name="/job 90210", user="alice")
    sources = small_sources(small, FakeScheduler(nodes(), [planted]))
    assert [one.tool for one in results(ask(sources, "/jobs"))] == ["find_jobs"]
    assert not any("90210" in one for one in suggestions(results(ask(sources, "/jobs"))))


@pytest.fixture(scope="module")
def demo() -> Asker:
    """The simulated cluster, without its history."""
    settings = demo_settings()
    settings = settings.model_copy(update={"demo": settings.demo.model_copy(update={"history_days": 0})})
    settings = settings.model_copy(update={"history": settings.history.model_copy(update={"directory": None})})
    opened = open_sources(settings)
    return Asker(STAFF, opened, opened.clock())


@pytest.mark.parametrize("question", ["/status", "/jobs", "/nodes", "/node h001", "/low", "/job {job}", "/series {job}",
                                      "/metrics", "/verdict {job}", "/health"])  # fmt: skip
def test_the_figures_of_what_is_said_stand_in_the_results(demo: Asker, question: str) -> None:
    running = [job for job in demo.sources.live.snapshot().jobs if job.is_running and job.allocated.gpus]
    job = max(running, key=lambda one: one.allocated.gpus or 0)
    asked = question.format(job=job.display_id)
    events = list(turn(demo, asked, NOTHING))
    last = events[-1]
    assert isinstance(last, Ended) and last.untraced == ()
    found = check(last.text, results(events), asked)
    bare = [last.text[one.start : one.end] for one in found.figures if not one.is_traced]
    assert [one for one in bare if not one.endswith(CUT)] == []
    assert last.figures == tuple(one for one in found.figures if one.is_traced)
