"""The evidence behind a verdict: the very numbers that were judged, of the viewer's own jobs alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from data.errors import NotFound, SourceUnreachable
from data.model import Series
from policy import evidence
from policy.evidence import job_evidence
from policy.queries import verdict
from tests.live.builders import NOW, FakeMetrics, measure
from tests.policy.test_verdict_scope import idle_everywhere
from tests.queries.cluster import ALICE, STAFF, open_fakes, readings, secrets_in


def with_series() -> FakeMetrics:
    metrics = idle_everywhere()
    start = NOW.timestamp() - 3600
    times = tuple(start + 30 * at for at in range(120))
    own, hers = measure("gpu01", 0).device, measure("gpu01", 2).device
    metrics.series = lambda *_, **__: [  # type: ignore[method-assign]
        Series("gpu_utilization", "gpu01", own, "7", times, tuple(0.4 if at < 10 else 0.0 for at in range(120))),
        Series("gpu_utilization", "gpu01", own, "90210", times, (0.9,) * 120),
        Series("gpu_utilization", "gpu01", hers, "90210", times, (0.9,) * 120),
    ]
    return metrics


def test_the_numbers_are_those_of_the_verdict() -> None:
    sources = open_fakes(measured=with_series())
    found, one = job_evidence(ALICE, sources, "7"), verdict(ALICE, sources, "7")
    assert found.one.verdict == one.verdict and found.total == one.gpus == 2
    assert [device.name for device in found.devices] == ["GPU 0", "GPU 1"]
    assert {device.mean for device in found.devices} == {one.verdict.mean} == {0.0}
    assert min(device.coverage or 0 for device in found.devices) == one.verdict.coverage
    first = found.devices[0]
    assert max(first.values) == 0.4, "samples of another job on the device are not shown"
    assert len(first.idle) == 1 and found.devices[1].times == ()
    assert found.window.end == NOW and found.window.start >= NOW - timedelta(hours=6)
    assert secrets_in(str(found)) == []


@pytest.mark.parametrize("job", ["90210", "424242", "9"])
def test_a_job_that_one_may_not_see_has_no_evidence(job: str) -> None:
    with pytest.raises(NotFound):
        job_evidence(ALICE, open_fakes(measured=with_series()), job)


def test_of_many_devices_those_that_do_least_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = with_series()
    metrics.sums_answer = [
        replace(one, sum=one.count * 0.001 * (8 - (one.device.index or 0)), maximum=0.1) for one in metrics.sums_answer
    ]
    monkeypatch.setattr(evidence, "MOST_DEVICES", 1)
    found = job_evidence(STAFF, open_fakes(measured=metrics), "90210")
    assert (found.total, [device.name for device in found.devices]) == (2, ["GPU 3"])


def test_metrics_that_do_not_answer_leave_the_verdict_and_say_so() -> None:
    metrics = FakeMetrics(readings())
    sources = open_fakes(measured=metrics)
    sources.live.snapshot()
    metrics.fault = SourceUnreachable("refused")
    found = job_evidence(STAFF, sources, "7")
    assert found.fault and found.devices == () and found.verdict.status in ("unknown", "calculating")
