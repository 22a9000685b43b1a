"""A tool sees what the one who asks may see: staff, two users, and somebody whom the cluster does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chat.model import ToolResult
from chat.tools import TOOLS, call
from data.model import Role, Viewer
from data.sources import Sources
from settings import Settings
from tests.chat.small_cluster import ASKED, as_asker, small_sources
from tests.live.builders import FakeScheduler
from tests.queries.cluster import ALICE, STAFF, STRANGER, scheduler, secrets_in

MALLORY = Viewer("mallory", Role.USER, frozenset({"chemistry"}))
NAMING = ("node", "find_jobs", "policy_verdicts", "efficiency_report", "waste_ranking")
# A job of mallory's, and one that nobody has: the same words for both but for the number.
HERS, NOBODYS = "90210", "424242"
BY_JOB = ("job_report", "job_series", "policy_verdict", "why_pending")


def ask(sources: Sources, viewer: Viewer, tool: str, **arguments: Any) -> ToolResult:
    return call(as_asker(viewer, sources), tool, arguments, "call_1")


def said(result: ToolResult) -> str:
    return json.dumps([result.value, result.error, result.hint, result.link])


def test_every_tool_is_walked_here() -> None:
    assert set(ASKED) == set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_staff_are_answered(sources: Sources, tool: str) -> None:
    assert ask(sources, STAFF, tool, **ASKED[tool]).error == ""


@pytest.mark.parametrize("viewer", [ALICE, STRANGER], ids=lambda one: one.user)
@pytest.mark.parametrize("tool", TOOLS)
def test_nobody_finds_anything_of_another_in_any_answer(sources: Sources, viewer: Viewer, tool: str) -> None:
    found = ask(sources, viewer, tool, **ASKED[tool])
    assert secrets_in(said(found)) == []
    assert secrets_in(repr(found.answer)) == []


@pytest.mark.parametrize("tool", NAMING)
def test_the_secrets_are_there_for_those_who_may_see_them(sources: Sources, tool: str) -> None:
    for viewer in (STAFF, MALLORY):
        assert secrets_in(said(ask(sources, viewer, tool, **ASKED[tool]))), viewer.user


def test_two_users_get_each_their_own(sources: Sources) -> None:
    rows = {
        viewer.user: ask(sources, viewer, "find_jobs", limit=50).value["jobs"]["rows"]  # type: ignore[index]
        for viewer in (ALICE, MALLORY, STAFF)
    }
    assert [{row["user"] for row in rows[name]} for name in ("alice", "mallory")] == [{"alice"}, {"mallory"}]
    assert len(rows["root"]) == len(rows["alice"]) + len(rows["mallory"])


@pytest.mark.parametrize("tool", BY_JOB)
def test_a_job_of_another_and_one_that_does_not_exist_give_the_same_answer(sources: Sources, tool: str) -> None:
    hers, nobodys = (ask(sources, ALICE, tool, job_id=one) for one in (HERS, NOBODYS))
    assert hers.is_failed and hers.value is None
    assert (hers.error.replace(HERS, NOBODYS), hers.hint.replace(HERS, NOBODYS)) == (nobodys.error, nobodys.hint)


@pytest.mark.parametrize("hidden", ["mallory", "nobody"])
def test_a_user_of_whom_nothing_may_be_seen_is_answered_as_nobody(sources: Sources, hidden: str) -> None:
    found = ask(sources, ALICE, "user_efficiency", user=hidden)
    assert found.error == f"There is no history of {hidden}, or you may not see it"


def test_a_users_numbers_say_that_they_are_not_the_clusters(sources: Sources) -> None:
    mine, whole = (ask(sources, one, "efficiency_report", **ASKED["efficiency_report"]).value for one in (ALICE, STAFF))
    assert mine is not None and whole is not None
    assert mine["counts"] == "only jobs that the asker may see, not the whole cluster"
    assert (mine["total"]["allocated_gpu_hours"], whole["total"]["allocated_gpu_hours"]) == (26.0, 46.0)
    assert mine["whole_cluster"]["allocated_gpu_hours"] == 46.0 and "whole_cluster" not in whole
    assert whole["counts"] == "everybody's jobs"


def test_waits_of_everybody_name_nobody_and_are_the_same_for_all(sources: Sources) -> None:
    found = [ask(sources, viewer, "wait_by_gpu_count", **ASKED["wait_by_gpu_count"]).value for viewer in (ALICE, STAFF)]
    assert found[0] == found[1] and found[0]["waits"]["rows"][0]["jobs"] == 3  # type: ignore[index]


def test_an_address_in_a_fault_is_for_staff_alone(small: Settings) -> None:
    class Refused(FakeScheduler):
        def job(self, job_id: str) -> Any:
            from data.errors import SourceUnreachable

            raise SourceUnreachable("http://slurm.internal:6820 refuses", hint="See slurm.url.")

    broken = Refused(scheduler().node_rows, scheduler().job_rows)
    sources = small_sources(small, broken)
    assert "slurm.internal" in ask(sources, STAFF, "job_report", job_id="7").error
    found = ask(sources, ALICE, "job_report", job_id="7")
    assert (found.error, found.hint) == (
        "A source that this needs does not answer.",
        "Try again later, or ask the cluster staff.",
    )
