"""One user: jobs of now, findings from one window, 30 days in day slices."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from data.common_window import common_window, title_of_window
from data.day_use import DayUse, digest_of
from data.errors import NotFound, SourceTimeout, SourceUnreachable
from data.model import JobUsage, Tres, Window, WindowReading
from data.queries.job_context import Ahead, ahead, nearest, neighbors
from data.queries.pending import waiting
from data.queries.users import user_now, user_past
from settings import Settings
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node, measure
from tests.queries.cluster import ALICE, HEAD, STAFF, STRANGER, open_fakes, readings, scheduler
from tests.queries.test_job_lists import ended, with_ended
from tests.queries.test_job_series import stat

HOUR = timedelta(hours=1)


def test_a_users_page_holds_own_jobs_and_no_one_elses():
    found = user_now(ALICE, open_fakes(), "alice")
    assert [row.job.display_id for row in found.running] == ["7", "8"]
    assert [row.job.display_id for row in found.pending] == ["9"]


@pytest.mark.parametrize("name", ["mallory", "nobody-at-all", "", "<script>", "x" * 300])
def test_a_user_that_may_not_be_seen_and_one_that_is_not_there_give_one_answer(name: str):
    with pytest.raises(NotFound) as caught:
        user_now(ALICE, open_fakes(), name)
    assert str(caught.value) == f"There is no user {name[:60]}, or you may not see their jobs"


def test_a_known_user_without_jobs_has_a_page_for_staff():
    idle = FakeScheduler([make_node()], [])
    assert user_now(STAFF, open_fakes(idle), "alice").running == ()
    assert user_now(STRANGER, open_fakes(idle), "stranger").running == ()


def test_findings_of_all_running_jobs_cost_one_window():
    jobs = [make_job(7, "gpu01", 2, (0, 1)), make_job(8, "gpu01", 1, (2,), start_time=NOW - 90 * timedelta(minutes=1))]
    window = Window(NOW - 90 * timedelta(minutes=1), NOW)
    stats = tuple(replace(stat(index, 0.0, 180, "7"), count=180) for index in (0, 1))
    metrics = FakeMetrics(window_answer=WindowReading(window, stats, 30.0))
    found = user_now(ALICE, open_fakes(FakeScheduler([make_node()], jobs), metrics), "alice")
    assert [one[1] for one in metrics.windows] == [window]
    assert metrics.windows[0][2].job_labels == {"7", "8"}
    assert [(one.job.display_id, one.finding.title) for one in found.findings] == [("7", "None of the 2 GPUs was used")]
    assert (found.judged, found.window_seconds) == (2, 5400.0)
    assert found.findings[0].finding.gpu_hours == pytest.approx(3.0)


def test_metrics_that_do_not_answer_cost_only_the_findings():
    metrics = FakeMetrics(readings())
    sources = open_fakes(None, metrics)
    sources.live.snapshot()
    metrics.fault = SourceTimeout("20 s")
    found = user_now(ALICE, sources, "alice")
    assert found.failed and found.findings == () and len(found.running) == 2


@pytest.mark.parametrize(
    ("ages", "minutes"),
    [((2, 5), 120), ((10, 30), 240), ((0.5, 3), 180), ((0.5, 0.25), 15), ((0.1,), None), ((), None)],
)
def test_the_common_window_is_as_long_as_the_youngest_that_counts(ages, minutes):
    jobs = [make_job(number, start_time=NOW - age * HOUR) for number, age in enumerate(ages)]
    window = common_window(jobs, NOW)
    assert (None if window is None else window.seconds / 60) == minutes


def test_titles_of_a_window_do_not_speak_of_ever():
    assert title_of_window("6 of 8 GPUs were never used") == "6 of 8 GPUs were not used"


def test_thirty_days_add_up_and_say_what_is_measured():
    measured = ended(1, 2 * HOUR, hours=2, usage=JobUsage(gpu_utilization=0.25))
    dark = ended(2, 50 * HOUR, hours=3)
    past = user_past(STAFF, open_fakes(with_ended(measured, dark)), "alice", NOW)
    hours = past.total.hours
    assert (past.total.jobs, past.total.gpu_jobs, past.is_whole) == (2, 2, True)
    assert (hours.allocated, hours.measured, hours.used) == pytest.approx((10.0, 4.0, 1.0))
    assert hours.allocated == pytest.approx(hours.used + hours.wasted + hours.not_measured)


def test_a_job_is_counted_on_the_day_of_its_end_alone():
    past = user_past(STAFF, open_fakes(with_ended(ended(1, 2 * HOUR, hours=70))), "alice", NOW)
    assert past.total.jobs == 1 and [use.jobs for _, use in past.by_day][-1] == 1
    assert len(past.by_day) == 31


def test_the_month_counts_only_what_the_viewer_may_see():
    rows = with_ended(ended(1, HOUR), ended(2, HOUR, user="mallory", account="chemistry"))
    assert user_past(ALICE, open_fakes(rows), "mallory", NOW).total == DayUse()
    assert user_past(STAFF, open_fakes(rows), "mallory", NOW).total.jobs == 1
    assert user_past(HEAD, open_fakes(rows), "alice", NOW).total.jobs == 1


def test_the_month_reads_on_where_its_budget_ended_and_each_day_once():
    asked = with_ended(ended(1, HOUR))
    sources = open_fakes(asked)
    first = user_past(ALICE, sources, "alice", NOW, budget_seconds=0.0)
    assert (first.read, first.is_whole) == (1, False)
    for _ in range(3):
        assert user_past(ALICE, sources, "alice", NOW).is_whole
    assert asked.calls.count("finished_jobs") == 31


def test_a_source_that_is_down_is_not_asked_for_every_day():
    asked = with_ended()
    asked.finished_jobs = _refuse(asked)
    past = user_past(ALICE, open_fakes(asked), "alice", NOW)
    assert past.is_whole and past.read == 0 and len(past.failed) == 31
    assert asked.calls.count("refused") == 3


def _refuse(asked: FakeScheduler):
    def refuse(since, until):
        asked.calls.append("refused")
        raise SourceUnreachable("no slurmdbd")

    return refuse


def test_an_unknown_number_of_gpus_is_counted_apart():
    digest = digest_of(Settings(), [ended(1, HOUR, allocated=Tres(cpus=1), devices=())])
    use = digest["alice"]["physics"]
    assert (use.jobs, use.unknown_gpus, use.hours.allocated) == (1, 1, 0.0)


def test_neighbors_name_only_those_that_may_be_seen():
    job = next(job for job in open_fakes().live.snapshot().jobs if job.job_id == 7)
    mine = neighbors(ALICE, open_fakes(), job)[0]
    assert (mine.jobs, mine.others, mine.gpus, mine.free_gpus) == ((), 1, 8, 4)
    assert [one.job_id for one in neighbors(STAFF, open_fakes(), job)[0].jobs] == [90210]


def test_what_is_ahead_counts_everybody_and_names_nobody():
    asked = scheduler()
    asked.job_rows = [replace(job, priority=500 if job.user == "mallory" else 120) for job in asked.job_rows]
    sources = open_fakes(asked)
    assert ahead(ALICE, sources, waiting(ALICE, sources, "9")) == Ahead(10, 160)
    slices = Tres(gpus=2, gpus_by_type={"a100_1g.10gb": 2})
    asked.job_rows = [replace(job, requested=slices) if job.user == "mallory" else job for job in asked.job_rows]
    sources = open_fakes(asked)
    assert ahead(ALICE, sources, waiting(ALICE, sources, "9")) == Ahead(10, 0, 20)


def test_without_priorities_nothing_is_said_of_what_is_ahead():
    asked = scheduler()
    asked.details = []
    sources = open_fakes(asked)
    assert ahead(ALICE, sources, waiting(ALICE, sources, "9")) == Ahead()


def test_the_nearest_matches_are_ones_that_may_be_seen():
    asked = FakeScheduler([make_node()], [make_job(4711), make_job(4712, user="mallory", account="chemistry")])
    sources = open_fakes(asked, FakeMetrics([measure()]))
    assert [hit.name for hit in nearest(ALICE, sources, "4713")] == ["4711"]
    assert {hit.name for hit in nearest(STAFF, sources, "4713")} == {"4711", "4712"}
    assert [hit.name for hit in nearest(STAFF, sources, "malory")] == ["mallory"]
    assert [hit.name for hit in nearest(ALICE, sources, "gpu10")] == ["gpu01"]
