"""Passes of the collector: every attempt once and right, whatever happens to it and to its record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from data.errors import SourceUnreachable
from data.history.collector import Collector
from data.history.condition import history_condition
from data.history.known import METRICS_FAILED
from data.history.state import read_states
from data.history.store import writing
from data.metrics.grid import Grid
from data.model import Role, Viewer
from data.queries.history.reading import Reading
from data.queries.history.span import range_of
from data.queries.history.state import state_of
from data.sources import NoMetrics
from tests.history.small_cluster import NOON, SmallCluster, doubled, ended, running, summary
from tests.live.builders import FakeMetrics

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def cluster(tmp_path: Path) -> SmallCluster:
    return SmallCluster(tmp_path / "history")


def later(cluster: SmallCluster, step: timedelta) -> None:
    cluster.now += step
    cluster.collect()


def test_an_ended_job_has_one_row_with_its_usage_and_its_accounts_parents(cluster: SmallCluster) -> None:
    cluster.done = [ended(1, NOON - 3 * HOUR, NOON - HOUR, 2, admin_comment=summary(0.25, 2))]
    numbers = cluster.collect()
    (row,) = cluster.rows("jobs")
    assert (row["gpu_source"], row["gpu_hours_allocated"], row["gpu_hours_used"]) == ("JS1 summary", 4.0, 1.0)
    assert row["account_path"] == ["science", "physics"]
    assert cluster.hours(1) == pytest.approx(4.0) and cluster.hours(1, "gpu_hours_used") == pytest.approx(1.0)
    assert (numbers.ended, numbers.written, numbers.apportioned) == (1, 1, 1)


def test_a_job_across_midnight_is_in_the_file_of_its_end_and_has_its_hours_on_both_days(cluster: SmallCluster) -> None:
    cluster.now = NOON - 8 * HOUR
    cluster.done = [ended(1, NOON - 14 * HOUR, NOON - 10 * HOUR)]
    cluster.collect()
    assert [row["_day"] for row in cluster.rows("jobs")] == [date(2026, 3, 10)]
    days = [row["_day"] for row in cluster.rows("usage")]
    assert days == [date(2026, 3, 9)] * 2 + [date(2026, 3, 10)] * 2
    assert cluster.hours(1) == pytest.approx(4.0)


def test_a_job_through_the_night_in_which_clocks_change_has_the_hours_that_passed(tmp_path: Path) -> None:
    start = datetime(2026, 3, 28, 22, tzinfo=UTC)
    cluster = SmallCluster(tmp_path / "history", now=start + 10 * HOUR)
    cluster.done = [ended(1, start, start + 6 * HOUR)]
    cluster.collect()
    assert cluster.hours(1) == pytest.approx(6.0)
    assert len(cluster.rows("usage")) == 6


def test_the_same_pass_once_more_changes_no_file_of_ended_jobs(cluster: SmallCluster) -> None:
    cluster.done = [ended(number, NOON - 3 * HOUR, NOON - HOUR, admin_comment=summary(0.5)) for number in range(5)]
    cluster.collect()
    before = {path: path.read_bytes() for path in cluster.directory.glob("jobs/*/*.parquet")}
    cluster.now += timedelta(hours=2)
    assert cluster.collect().written == 0
    assert {path: path.read_bytes() for path in cluster.directory.glob("jobs/*/*.parquet")} == before


def test_every_attempt_of_a_requeued_job_counts_once(cluster: SmallCluster) -> None:
    first = ended(1, NOON - 6 * HOUR, NOON - 5 * HOUR, state="REQUEUED")
    second = ended(1, NOON - 4 * HOUR, NOON - HOUR, restart_count=1)
    cluster.done = [first, second]
    cluster.collect()
    assert [(row["state"], row["gpu_hours_allocated"]) for row in cluster.rows("jobs")] == [
        ("REQUEUED", 1.0),
        ("COMPLETED", 3.0),
    ]
    assert cluster.hours(1) == pytest.approx(4.0)


def test_tasks_of_an_array_and_parts_of_a_het_job_are_rows_of_their_own(cluster: SmallCluster) -> None:
    start, end = NOON - 3 * HOUR, NOON - HOUR
    cluster.done = [
        ended(14, start, end, array_job_id=14, array_task_id=1, display_id="14_1"),
        ended(15, start, end, array_job_id=14, array_task_id=2, display_id="14_2"),
        ended(20, start, end, het_job_id=20, het_offset=0, display_id="20+0"),
        ended(21, start, end, het_job_id=20, het_offset=1, display_id="20+1"),
    ]
    cluster.collect()
    assert [row["display_id"] for row in cluster.rows("jobs")] == ["14_1", "14_2", "20+0", "20+1"]


def test_suspended_time_is_no_gpu_time(cluster: SmallCluster) -> None:
    cluster.done = [ended(1, NOON - 5 * HOUR, NOON - HOUR, suspended_seconds=3 * 3600.0)]
    cluster.collect()
    assert cluster.rows("jobs")[0]["gpu_hours_allocated"] == 1.0
    assert cluster.hours(1) == pytest.approx(1.0)


def test_jobs_of_two_clusters_with_one_id_are_two_jobs(cluster: SmallCluster) -> None:
    job = ended(1, NOON - 3 * HOUR, NOON - HOUR)
    cluster.done = [job, replace(job, cluster="other")]
    cluster.collect()
    assert [row["cluster"] for row in cluster.rows("jobs")] == ["demo", "other"]


def test_hours_of_a_running_job_are_there_before_it_ends_and_not_doubled_after(cluster: SmallCluster) -> None:
    cluster.jobs = [running(1, NOON - 2 * HOUR)]
    cluster.collect()
    assert cluster.hours(1) == pytest.approx(2.0)
    assert cluster.rows("jobs") == []
    later(cluster, timedelta(minutes=30))
    assert cluster.hours(1) == pytest.approx(2.5)
    cluster.jobs, cluster.done = [], [ended(1, NOON - 2 * HOUR, NOON + HOUR)]
    later(cluster, HOUR)
    assert cluster.hours(1) == pytest.approx(3.0)
    assert doubled("usage", cluster.rows("usage")) == []


def test_a_job_that_ended_after_the_picture_was_made_keeps_all_its_hours(cluster: SmallCluster) -> None:
    start = NOON - 2 * HOUR
    cluster.jobs = [running(1, start), running(2, start, 1)]
    cluster.now += timedelta(minutes=10)
    picture = cluster.sources().live.picture()
    cluster.done = [ended(1, start, cluster.now + timedelta(seconds=20))]
    cluster.now += timedelta(seconds=25)
    sources = cluster.sources()
    sources.live.picture = lambda: picture  # type: ignore[method-assign]
    with writing(cluster.directory) as store:
        Collector(sources, store).run()
    assert cluster.hours(1) == pytest.approx(2 + 620 / 3600)
    assert cluster.hours(2) == pytest.approx(2 + 600 / 3600)


def test_hours_behind_an_end_that_became_known_late_are_taken_away(cluster: SmallCluster) -> None:
    cluster.jobs = [running(1, NOON - 2 * HOUR)]
    cluster.collect()
    later(cluster, 5 * HOUR)
    assert cluster.hours(1) == pytest.approx(7.0)
    cluster.jobs, cluster.done = [], [ended(1, NOON - 2 * HOUR, NOON + HOUR)]
    later(cluster, HOUR)
    assert cluster.hours(1) == pytest.approx(3.0)


def test_hours_written_under_a_start_that_was_corrected_are_taken_away(cluster: SmallCluster) -> None:
    cluster.jobs = [running(1, NOON - HOUR)]
    cluster.collect()
    cluster.jobs, cluster.done = [], [ended(1, NOON - HOUR - timedelta(seconds=2), NOON + HOUR)]
    later(cluster, 2 * HOUR)
    assert cluster.hours(1) == pytest.approx(2.0, abs=0.001)


def test_a_job_whose_end_day_changed_leaves_the_old_file(cluster: SmallCluster) -> None:
    cluster.done = [ended(1, NOON - 30 * HOUR, NOON - 20 * HOUR), ended(2, NOON - 30 * HOUR, NOON - 20 * HOUR)]
    cluster.collect()
    cluster.done[0] = ended(1, NOON - 30 * HOUR, NOON - HOUR)
    cluster.now += 2 * HOUR
    assert cluster.collect().moved == 1
    assert [(row["job_id"], row["_day"].day) for row in cluster.rows("jobs")] == [(1, 10), (2, 9)]


def test_a_summary_that_comes_late_is_taken_in(cluster: SmallCluster) -> None:
    cluster.done = [ended(1, NOON - 3 * HOUR, NOON - HOUR)]
    assert cluster.collect().unmeasured == 1
    cluster.done = [replace(cluster.done[0], admin_comment=summary(0.5))]
    later(cluster, 30 * HOUR)
    (row,) = cluster.rows("jobs")
    assert (row["gpu_source"], row["gpu_hours_used"]) == ("JS1 summary", 1.0)
    assert cluster.hours(1, "gpu_hours_used") == pytest.approx(1.0)


def test_an_end_that_slurmdbd_learned_of_days_later_is_found_at_night(cluster: SmallCluster) -> None:
    cluster.collect()
    cluster.done = [ended(1, NOON - 3 * HOUR, NOON - HOUR)]
    for _ in range(6):
        cluster.now += DAY
        cluster.done, late = [], cluster.done
        cluster.collect()
        cluster.done = late
    later(cluster, DAY)
    assert [row["job_id"] for row in cluster.rows("jobs")] == [1]


def test_between_wide_passes_little_is_asked_for(cluster: SmallCluster) -> None:
    cluster.collect()
    cluster.scheduler.calls.clear()
    later(cluster, timedelta(minutes=1))
    assert cluster.scheduler.calls.count("finished_jobs") == 1


@pytest.mark.parametrize("count", [1, 400])
def test_requests_do_not_depend_on_the_number_of_jobs(cluster: SmallCluster, count: int) -> None:
    start, end = NOON - 3 * HOUR, NOON - HOUR
    cluster.done = [ended(number, start, end, admin_comment=summary(0.5)) for number in range(count)]
    cluster.metrics = FakeMetrics()
    asked: list[object] = []
    cluster.metrics.grid = lambda *given, **_: (asked.append(given), Grid(given[2], (), 300.0))[1]
    assert cluster.collect().written == count
    assert cluster.scheduler.calls.count("finished_jobs") == 3
    assert len(asked) == 1


def test_the_mark_does_not_move_while_slurm_is_down(cluster: SmallCluster) -> None:
    cluster.collect()
    (before,) = read_states(cluster.directory)
    cluster.scheduler.fault = SourceUnreachable("slurmctld is down")
    cluster.now += HOUR
    with pytest.raises(SourceUnreachable):
        cluster.collect()
    assert read_states(cluster.directory) == (before,)
    cluster.scheduler.fault = None
    cluster.done = [ended(1, NOON - HOUR, NOON + timedelta(minutes=30))]
    cluster.collect()
    assert len(cluster.rows("jobs")) == 1


def test_while_metrics_are_down_rows_are_written_marked_and_looked_at_again(cluster: SmallCluster) -> None:
    metrics = FakeMetrics()
    metrics.grid = lambda *_: (_ for _ in ()).throw(SourceUnreachable("prometheus is down"))  # type: ignore[attr-defined]
    cluster.metrics = metrics
    cluster.jobs = [running(2, NOON - HOUR)]
    cluster.done = [ended(1, NOON - 3 * HOUR, NOON - HOUR, admin_comment=summary(0.5))]
    assert cluster.collect().error == "prometheus is down"
    assert METRICS_FAILED in cluster.rows("jobs")[0]["flags"]
    assert cluster.hours(2) == pytest.approx(1.0)
    (state,) = read_states(cluster.directory)
    assert state.measured_until is None
    cluster.metrics = NoMetrics()
    later(cluster, 2 * HOUR)
    assert METRICS_FAILED not in cluster.rows("jobs")[0]["flags"]
    assert read_states(cluster.directory)[0].measured_until == cluster.now


def test_a_collector_that_stood_still_for_days_catches_up(cluster: SmallCluster) -> None:
    cluster.collect()
    cluster.done = [ended(number, NOON + number * DAY, NOON + number * DAY + HOUR) for number in range(1, 20)]
    later(cluster, 25 * DAY)
    assert len(cluster.rows("jobs")) == 19


def test_an_import_reaches_as_far_back_as_asked_and_a_second_one_writes_nothing(cluster: SmallCluster) -> None:
    cluster.done = [ended(number, NOON - number * DAY, NOON - number * DAY + HOUR, admin_comment=summary(0.5))
                    for number in range(1, 90)]  # fmt: skip
    cluster.collect(NOON - 60 * DAY)
    assert len(cluster.rows("jobs")) == 60
    assert cluster.collect(NOON - 60 * DAY).written == 0
    assert read_states(cluster.directory)[0].collected_until == NOON


def test_answers_of_days_that_an_import_has_not_reached_say_how_far_it_is(cluster: SmallCluster) -> None:
    cluster.done = [ended(1, NOON - 35 * DAY, NOON - 34 * DAY), ended(2, NOON - 30 * HOUR, NOON - 26 * HOUR)]
    viewer, of_month = Viewer("root", Role.STAFF), range_of(NOON - 30 * DAY, NOON)
    notes: list[tuple[str, ...]] = []

    def reached(step: str) -> None:
        if step == "jobs: in place":
            notes.append(state_of(viewer, Reading(None, cluster.directory, of_month)).notes)

    cluster.reached = reached
    cluster.collect(NOON - 40 * DAY)
    told = [f"since 2026-01-29 are being read: {done} of 41 days so far, the oldest first." for done in (6, 39)]
    assert [words.partition("records ")[2] for (words,) in notes] == told
    assert "being read" not in repr(state_of(viewer, Reading(None, cluster.directory, of_month)).notes)


def test_records_that_cannot_be_kept_are_counted_and_named(cluster: SmallCluster) -> None:
    cluster.done = [replace(ended(1, NOON - 3 * HOUR, NOON - HOUR), submit_time=None)]
    numbers = cluster.collect()
    assert (numbers.broken, numbers.broken_examples) == (1, ("job 1: no submit or start time",))
    assert cluster.rows("jobs") == []


def test_impossible_values_stay_in_the_flags_and_out_of_the_hours(cluster: SmallCluster) -> None:
    backwards = replace(ended(1, NOON - HOUR, NOON - 2 * HOUR), elapsed_seconds=-3600.0)
    cluster.done = [backwards]
    cluster.scheduler.finished_jobs = lambda since, until: type(cluster.scheduler.jobs())(tuple(cluster.done))  # type: ignore[method-assign]
    numbers = cluster.collect()
    (row,) = cluster.rows("jobs")
    assert {"end before start", "negative elapsed time"} <= set(row["flags"])
    assert (row["gpu_hours_allocated"] or 0.0) == 0.0
    assert numbers.flagged["end before start"] == 1


def test_health_can_say_when_it_was_collected_and_what_is_damaged(cluster: SmallCluster) -> None:
    assert history_condition(cluster.directory).is_empty
    cluster.done = [ended(1, NOON - 3 * HOUR, NOON - HOUR)]
    cluster.collect()
    (path,) = cluster.directory.glob("jobs/*/*.parquet")
    path.write_bytes(path.read_bytes()[:50])
    found = history_condition(cluster.directory)
    assert (found.passed_at, found.first_day, found.days["jobs"]) == (NOON, date(2026, 3, 10), 1)
    assert [one.path for one in found.damaged] == [path] and found.set_aside == ()
    assert found.collectors[0].last.unmeasured == 1
    cluster.now += 2 * HOUR
    cluster.collect()
    found = history_condition(cluster.directory)
    assert found.damaged == () and len(found.set_aside) == 1
    assert len(cluster.rows("jobs")) == 1, "what Slurm still knows is collected anew"
