"""Health: what is missing and how it is mended for staff; no address and no error text for others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from data.check import Verdict
from data.model import JoinMethod, Note, Role, SourceCondition, SourceHealth, Viewer
from data.queries.health import health
from tests.components.snapshots import gpu, snapshot, source
from tests.live.builders import FakeMetrics
from tests.services.web import sources_of

SAM, EVE = Viewer("sam", Role.STAFF), Viewer("eve", Role.USER)


class Asked(FakeMetrics):
    """Metrics that miss two fields; counts how often their health is asked."""

    def health(self) -> SourceHealth:
        self.requests += 1
        return SourceHealth(
            True,
            "2.42.0",
            dialects=("dcgm_exporter",),
            interval_seconds=30.0,
            missing_metrics=("sm_occupancy", "fp64_activity"),
        )


def opened(measured: Any = None, **changes: Any) -> Any:
    failing = source(
        "metrics", address="http://prom.secret:9090", dialects=("dcgm_exporter",), broken_examples=("secret row",)
    )
    shown = snapshot(sources=(source("slurm"), failing), **changes)
    return replace(sources_of(shown), metrics=measured or Asked())


def test_staff_read_the_lines_that_give_a_missing_field() -> None:
    found = health(SAM, opened())
    fixes = [line for check in found.checks for line in check.fix]
    assert found.missing == ("sm_occupancy", "fp64_activity")
    assert any("DCGM_FI_PROF_SM_OCCUPANCY" in line for line in fixes)


def test_a_user_sees_what_is_missing_and_no_address_row_or_check() -> None:
    found = health(EVE, opened())
    assert found.missing and found.checks == () and "secret" not in repr(found)


def test_the_server_is_asked_once_however_many_look() -> None:
    measured = Asked()
    sources = opened(measured)
    for viewer in (SAM, EVE, SAM):
        health(viewer, sources)
    assert measured.requests == 1


@pytest.mark.parametrize("condition", [SourceCondition.DOWN, SourceCondition.STALE])
def test_a_server_that_does_not_answer_is_not_asked_again(condition: SourceCondition) -> None:
    measured = Asked()
    shown = snapshot(sources=(source("slurm"), source("metrics", condition)))
    found = health(SAM, replace(sources_of(shown), metrics=measured))
    assert measured.requests == 0 and found.interval_seconds is None


def test_held_devices_are_counted_by_how_they_came_to_their_job() -> None:
    gpus = (
        gpu("h001", 0, join=JoinMethod.INDEX, job_ids=(1,)),
        gpu("h001", 1, join=JoinMethod.JOB_LABEL, job_ids=(1,)),
        gpu("h001", 2, join=JoinMethod.INDEX, job_ids=(2,)),
        gpu("h001", 3),
    )
    assert health(SAM, opened(gpus=gpus)).joins == {JoinMethod.INDEX: 2, JoinMethod.JOB_LABEL: 1}


def test_a_count_that_differs_is_a_problem_with_its_fix() -> None:
    found = health(SAM, opened(gpus=(gpu("h001", 0),)))
    problems = [check for check in found.checks if check.verdict is Verdict.PROBLEM]
    assert any("h001 (Slurm 8, metrics 1)" in check.text and check.fix for check in problems)


def test_notes_lose_the_jobs_that_a_viewer_may_not_see() -> None:
    note = Note("mapping_disagrees", "h001", "differ for 1 jobs", 1, (48211,))
    assert health(EVE, opened(notes=(note,))).notes[0].job_ids == ()


def test_with_nothing_at_all_there_is_still_an_answer() -> None:
    down = (source("slurm", SourceCondition.DOWN), source("metrics", SourceCondition.DOWN))
    found = health(SAM, replace(sources_of(snapshot(nodes=(), gpus=(), jobs=(), sources=down)), metrics=None))  # type: ignore[arg-type]
    assert len(found.sources) == 2 and found.joins == {}
