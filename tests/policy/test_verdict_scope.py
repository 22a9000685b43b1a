"""Who sees which verdict: one's own in full, totals of everybody, nobody else's name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.errors import NotFound, SourceUnreachable
from data.model import Viewer, WindowSum
from data.recent import Recent
from policy.queries import verdict, verdicts
from settings import Settings
from terminal.form import to_json
from tests.live.builders import FakeMetrics
from tests.queries.cluster import ALICE, COLLEAGUE, HEAD, STAFF, STRANGER, open_fakes, readings, secrets_in


def idle_everywhere() -> FakeMetrics:
    devices = [one.device for one in readings()]
    windows = (2700.0, 4500.0, 5400.0, 14400.0)
    sums = [
        WindowSum("gpu_utilization", device.node, device, None, window, int(window / 30), 0.0, 0.0, 0.0)
        for device in devices
        for window in windows
    ]
    return FakeMetrics(readings(), sums_answer=sums)


@pytest.mark.parametrize(
    ("viewer", "seen"),
    [(STAFF, {7, 8, 90210, 90211}), (ALICE, {7, 8}), (HEAD, {7, 8}), (COLLEAGUE, {90210, 90211}), (STRANGER, set())],
)
def test_a_viewer_sees_the_verdicts_of_jobs_that_they_may_see(viewer: Viewer, seen: set[int]) -> None:
    found = verdicts(viewer, open_fakes(measured=idle_everywhere()))
    assert {one.job.job_id for one in found.verdicts} == seen
    assert sum(found.counts.values()) == found.running_gpu_jobs == 4
    if viewer in (ALICE, STRANGER):
        assert secrets_in(to_json(found).decode()) == []


@pytest.mark.parametrize("job", ["90210", "99999", "9", "", "None", "7+x"])
def test_a_job_that_one_may_not_see_and_one_without_a_verdict_give_the_same_answer(job: str) -> None:
    with pytest.raises(NotFound) as refused:
        verdict(ALICE, open_fakes(measured=idle_everywhere()), job)
    assert str(refused.value).replace(job, "") == _message().replace("77777", "")


def _message() -> str:
    with pytest.raises(NotFound) as refused:
        verdict(ALICE, open_fakes(measured=idle_everywhere()), "77777")
    return str(refused.value)


def test_the_metrics_are_asked_once_for_all_viewers() -> None:
    measured = idle_everywhere()
    sources = open_fakes(measured=measured)
    sources.live.snapshot()
    before = measured.requests
    for viewer in (STAFF, ALICE, HEAD, STRANGER):
        verdicts(viewer, sources)
    assert measured.requests - before <= 2


def test_what_the_server_said_of_its_fault_is_for_staff() -> None:
    sources = open_fakes(measured=FakeMetrics(readings()))
    sources.live.snapshot()
    measured = sources.metrics
    assert isinstance(measured, FakeMetrics)
    measured.fault = SourceUnreachable("no answer from http://secret-host:9090")
    assert "secret-host" in verdicts(STAFF, sources).detail
    plain = verdicts(ALICE, replace(sources, recent=Recent()))
    assert (plain.fault, plain.detail) == ("the metrics server does not answer", "")
    assert "secret-host" not in to_json(plain).decode()
    assert {one.status.value for one in plain.verdicts} <= {"unknown", "calculating", "exempt"}


def test_a_policy_without_rules_judges_nobody_and_asks_nothing() -> None:
    off = Settings.model_validate({"policy": {"rules": {"idle": {"mode": "off"}, "low-mean": {"mode": "off"}}}})
    measured = idle_everywhere()
    sources = replace(open_fakes(measured=measured), settings=off)
    sources.live.snapshot()
    before = measured.requests
    found = verdicts(STAFF, sources)
    assert (found.verdicts, found.uncovered, measured.requests - before) == ((), 4, 0)
