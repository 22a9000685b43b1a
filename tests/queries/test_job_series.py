"""Series of a job's devices: its own points alone, gaps kept, idle stretches exact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from data.errors import BadRequest, NotFound, SourceTimeout
from data.idle_stretches import idle_stretches
from data.model import Device, Series, Window, WindowReading, WindowStat
from data.queries.job_report import job_answer
from data.queries.job_series import MOST_SHOWN, job_series, series_of
from tests.live.builders import NOW, FakeScheduler, make_job, make_node, uuid_of
from tests.queries.cluster import ALICE, STAFF, STRANGER, open_fakes
from tests.queries.plotted import Plotted

START = NOW - timedelta(hours=2)


def device(index: int) -> Device:
    return Device("gpu01", index, uuid_of("gpu01", index), model="NVIDIA H100 80GB HBM3")


def stat(index: int, mean: float, idle: int = 0, label: str | None = "7") -> WindowStat:
    return WindowStat("gpu_utilization", "gpu01", device(index), label, mean * 240, 240, mean, mean, idle)


def line(index: int, label: str | None = "7", metric: str = "gpu_utilization", values: Sequence[float] = (0.5,) * 4):
    first = START.timestamp()
    return Series(
        metric, "gpu01", device(index), label, tuple(first + 30 * at for at in range(len(values))), tuple(values)
    )


def opened(gpus: int = 2, **changes: object):
    job = make_job(7, "gpu01", gpus, tuple(range(gpus)))
    stats = tuple(stat(index, 0.5) for index in range(gpus))
    metrics = Plotted(window_answer=WindowReading(Window(START, NOW), stats, 30.0), **changes)
    return open_fakes(FakeScheduler([make_node("gpu01", pools={"h100": max(8, gpus)})], [job]), metrics), metrics


def test_each_device_gets_its_own_points_and_no_other_jobs():
    lines = [line(0), line(1, label="8"), line(1, values=(0.1, 0.2))]
    sources, _ = opened(given=lines)
    found = job_series(STAFF, sources, "7")
    assert [one.gpu.device.index for one in found.devices] == [0, 1]
    assert [one.values for one in found.devices] == [(0.5,) * 4, (0.1, 0.2)]
    assert found.devices[0].times == (0.0, 30.0, 60.0, 90.0)


def test_a_device_without_samples_has_no_points_and_stays():
    sources, _ = opened(given=[line(0)])
    assert [len(one.times) for one in job_series(STAFF, sources, "7").devices] == [4, 0]


def test_one_read_a_metric_for_all_who_look_and_the_window_is_the_jobs_own():
    sources, metrics = opened(given=[line(0)])
    for _ in range(3):
        job_series(STAFF, sources, "7")
    job_series(ALICE, sources, "7", "power_watts")
    plots = [one for one in metrics.asked if one[3] is not None and one[0][0] in ("gpu_utilization", "power_watts")]
    assert len({one[0] for one in plots}) == 2 and len(plots) <= 3
    assert all(one[1] == Window(START, NOW) for one in plots)


def test_of_many_devices_the_worst_are_shown_and_points_stay_bounded():
    sources, _ = opened(gpus=64, given=[line(index) for index in range(64)])
    found = job_series(STAFF, sources, "7")
    assert (len(found.devices), found.total) == (MOST_SHOWN, 64)
    assert len(job_series(STAFF, sources, "7", most=None).devices) == 64
    assert found.window.seconds / found.step_seconds * 64 <= 250_000


def test_a_failed_read_is_said_and_costs_only_the_plot():
    sources, metrics = opened(given=[line(0)])
    metrics.series_fault = SourceTimeout("20 s")
    found = job_series(STAFF, sources, "7")
    assert found.failed and found.devices == () and found.total == 2


def test_nobody_plots_what_they_may_not_see():
    sources, _ = opened(given=[line(0)])
    answer = job_answer(STAFF, sources, "7")
    with pytest.raises(NotFound):
        job_series(STRANGER, sources, "7")
    with pytest.raises(NotFound):
        series_of(STRANGER, sources, answer, "gpu_utilization")


def test_only_known_metrics_are_plotted():
    with pytest.raises(BadRequest, match="luck"):
        job_series(STAFF, opened()[0], "7", "luck")


@pytest.mark.parametrize(
    ("values", "times", "expected"),
    [
        ((0, 0, 0), (0, 30, 60), ((0, 60),)),
        ((0, 1, 0, 0), (0, 30, 60, 90), ((60, 90),)),
        ((0, 0, 0, 0), (0, 30, 300, 330), ((0, 30), (300, 330))),
        ((0,), (0,), ()),
        ((), (), ()),
        ((0.5, 0.4), (0, 30), ()),
    ],
)
def test_idle_stretches_end_at_work_and_at_gaps(values, times, expected):
    assert idle_stretches(times, values, 0.0, 30.0) == expected


def test_a_metric_that_does_not_tell_idleness_has_no_idle_stretches():
    assert idle_stretches((0, 30), (0, 0), None, 30.0) == ()
