"""The last day: hours that jobs held and did not use, and lines that invent nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from data.last_day import ENGINE, POWER, UTILIZATION, hours, trends
from data.model import Device, Role, Series, Viewer, Window, WindowReading, WindowStat
from data.queries.day_before import day_before
from settings import Settings
from tests.components.snapshots import NOON, gpu
from tests.history.small_cluster import NOON as COLLECTED
from tests.history.small_cluster import SmallCluster, ended, summary

WINDOW = Window(NOON - timedelta(hours=24), NOON)
STEP = 6 * 3600.0
HOUR = timedelta(hours=1)
START = WINDOW.start.timestamp()
CARD = Device("h001", index=0, uuid="gpu-h001-0")
SLICE = Device("h001", index=1, uuid="mig", slice_id="7", slice_profile="1g.10gb")


def stat(metric: str, device: Device, label: str | None, total: float, count: int) -> WindowStat:
    return WindowStat(metric, device.node, device, label, total, count, 0.0, 1.0, 0)


def reading(*stats: WindowStat, interval: float | None = 30.0) -> WindowReading:
    return WindowReading(WINDOW, stats, interval)


def test_wasted_is_measured_less_used_of_samples_with_a_job() -> None:
    used = stat(UTILIZATION, CARD, "1", 60.0, 240)
    free = stat(UTILIZATION, CARD, None, 0.0, 1000)
    assert hours(reading(used, free), [gpu("h001", 0)]) == (1.5, 2.0, "")


def test_a_slice_counts_by_its_weight_and_by_gr() -> None:
    part = gpu("h001", 1, device=SLICE, weight=0.25)
    stats = (stat(ENGINE, SLICE, "1", 0.0, 120), stat(UTILIZATION, SLICE, "1", 0.0, 120))
    assert hours(reading(*stats), [part]) == (0.25, 0.25, "")


def test_a_gpu_that_jobs_share_all_day_counts_one_day() -> None:
    day = 24 * 120
    wasted, measured, _ = hours(reading(*(stat(UTILIZATION, CARD, job, 0.0, day) for job in "123")), [gpu("h001", 0)])
    assert measured == pytest.approx(24.0, rel=0.001)
    assert wasted == measured


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (reading(stat(UTILIZATION, CARD, None, 0.0, 10)), "no sample carries a job"),
        (reading(), "no sample carries a job"),
        (reading(stat(UTILIZATION, CARD, "1", 0.0, 10), interval=None), "the scrape interval is not known"),
    ],
)
def test_what_cannot_be_known_is_absent_and_says_why(given: WindowReading, why: str) -> None:
    assert hours(given, []) == (None, None, why)


def line(metric: str, device: Device, label: str | None, values: dict[int, float]) -> Series:
    times = tuple(START + (at + 1) * STEP for at in values)
    return Series(metric, device.node, device, label, times, tuple(values.values()))


def test_lines_count_cards_once_and_leave_gaps_where_little_was_seen() -> None:
    other = Device("h002", index=0, uuid="gpu-h002-0")
    found = trends(
        [
            line(UTILIZATION, CARD, "1", {0: 0.5, 1: 0.0}),
            line(UTILIZATION, CARD, "2", {1: 0.4, 3: 0.0}),
            line(UTILIZATION, other, None, {0: 0.0, 1: 0.0, 3: 0.0}),
            line(POWER, CARD, None, {0: 300.0, 1: 200.0, 2: 100.0}),
        ],
        WINDOW,
        STEP,
    )
    assert found["allocated"] == (1.0, 1.0, None, 1.0)
    assert found["busy"] == (1.0, 1.0, None, 0.0)
    assert found["wasted"] == (0.5, pytest.approx(0.6), None, 1.0)
    assert found["power"] == (300.0, 200.0, 100.0, None)


def test_without_job_labels_only_power_has_a_line() -> None:
    assert set(trends([line(UTILIZATION, CARD, None, {0: 0.5}), line(POWER, CARD, None, {0: 1.0})], WINDOW, STEP)) == {
        "power"
    }


def test_a_node_that_slurm_knows_to_be_down_leaves_no_gap_and_a_silent_exporter_does() -> None:
    other = Device("h002", index=0, uuid="gpu-h002-0")
    series = [
        line(metric, device, "1", values)
        for metric in (UTILIZATION, POWER)
        for device, values in ((CARD, {0: 0.5, 1: 0.5, 2: 0.5, 3: 0.5}), (other, {0: 1.0, 3: 1.0}))
    ]
    none: frozenset[str] = frozenset()
    found = trends(series, WINDOW, STEP, [none, frozenset({"h002"}), frozenset({"h001"}), none])
    assert found["allocated"] == (2.0, 1.0, None, 2.0)
    assert found["power"] == (1.5, 0.5, None, 1.5)


def test_two_nodes_that_were_down_one_after_the_other_leave_no_gap() -> None:
    other = Device("h002", index=0, uuid="gpu-h002-0")
    series = [line(UTILIZATION, CARD, "1", {0: 0.5}), line(UTILIZATION, other, "2", {1: 0.5})]
    gone = [frozenset({"h002"}), frozenset({"h001"}), frozenset({"h001", "h002"}), frozenset({"h001", "h002"})]
    assert trends(series, WINDOW, STEP, gone)["allocated"] == (1.0, 1.0, None, None)


def test_the_day_before_a_past_moment_is_what_the_history_has_of_it(tmp_path: Path) -> None:
    cluster = SmallCluster(tmp_path / "history")
    cluster.done = [ended(1, COLLECTED - 3 * HOUR, COLLECTED - HOUR, 2, admin_comment=summary(0.25, 2))]
    nobody = Viewer("stranger", Role.USER)
    assert day_before(nobody, cluster.sources(), COLLECTED).why == "not in the history yet"
    cluster.collect()
    sources = cluster.sources()
    found = day_before(nobody, sources, COLLECTED)
    assert (found.wasted, found.measured, found.why) == (pytest.approx(3.0), pytest.approx(4.0), "")
    assert day_before(nobody, sources, COLLECTED + HOUR).why == "not in the history yet"
    assert day_before(nobody, replace(sources, settings=Settings()), COLLECTED - HOUR).why == "no history is kept"
