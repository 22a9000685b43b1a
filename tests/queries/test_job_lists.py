"""Lists of jobs: what is in them, in which order, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from data.errors import BadRequest, SourceUnreachable
from data.history import recorded_use
from data.history.recorded_use import recorded_use as found
from data.model import JobFilter, Tres
from data.queries.finished import finished
from data.queries.job_list import ListQuestion, Show, every_row, job_list
from data.report import UseSource
from tests.history.small_cluster import NOON as COLLECTED
from tests.history.small_cluster import SmallCluster, summary
from tests.history.small_cluster import ended as attempt
from tests.live.builders import NOW, FakeScheduler, make_job
from tests.queries.cluster import ALICE, HEAD, STAFF, open_fakes, scheduler

DAY = timedelta(days=1)


def ended(job_id: int, ago: timedelta, hours: float = 1.0, **fields: object):
    end = NOW - ago
    times = {"start_time": end - timedelta(hours=hours), "end_time": end, "elapsed_seconds": hours * 3600}
    return replace(make_job(job_id, "gpu01", 2, state="COMPLETED", **times), **fields)


def with_ended(*jobs: object) -> FakeScheduler:
    asked = scheduler()
    asked.finished = jobs
    return asked


def ids(page) -> list[str]:
    return [row.job.display_id for row in page.rows]


def ask(asked: FakeScheduler, days: int = 2, viewer=STAFF, wanted: JobFilter | None = None, until=NOW, **more):
    return finished(viewer, open_fakes(asked), wanted or JobFilter(), until=until, days=days, **more)


def test_jobs_that_ended_in_the_range_newest_first():
    asked = with_ended(ended(1, DAY), ended(2, timedelta(hours=1)), ended(3, 3 * DAY), ended(4, 2 * DAY))
    assert ids(ask(asked)) == ["2", "1", "4"]


def test_a_job_over_midnight_is_listed_once_on_the_day_of_its_end():
    long = ended(1, timedelta(hours=2), hours=60)
    assert ids(ask(with_ended(long), days=7)) == ["1"]
    assert ask(with_ended(long), days=1, until=NOW - DAY).total == 0


def test_requeued_attempts_are_rows_of_their_own():
    first, second = ended(1, timedelta(hours=5)), ended(1, timedelta(hours=1))
    assert ask(with_ended(first, replace(first), second)).total == 2


def test_a_job_cancelled_while_it_waited_has_no_hours_and_no_wait():
    never = ended(1, timedelta(hours=1), start_time=None, nodes=(), allocated=Tres(), elapsed_seconds=None)
    asked = with_ended(never)
    asked.finished_jobs = lambda since, until: __import__("data.model", fromlist=["Rows"]).Rows((never,))
    row = ask(asked).rows[0]
    assert (row.wait_seconds, row.gpus, row.utilization, row.source) == (None, 2, None, UseSource.NONE)


@pytest.mark.parametrize(("sort", "order"), [("gpus", "231"), ("-gpus", "321"), ("elapsed", "321"), ("-id", "321")])
def test_sorted_by_the_server_with_unknown_values_last(sort: str, order: str):
    rows = [
        ended(1, timedelta(hours=1), hours=9, allocated=Tres()),
        ended(2, timedelta(hours=2), hours=5, allocated=Tres(gpus=1)),
        ended(3, timedelta(hours=3), hours=2, allocated=Tres(gpus=4)),
    ]
    assert "".join(ids(ask(with_ended(*rows), sort=sort))) == order


def test_filters_and_pages_are_the_servers():
    rows = [ended(number, timedelta(minutes=number), user=f"u{number % 3}") for number in range(1, 31)]
    page = ask(with_ended(*rows), wanted=JobFilter(users=frozenset({"u1"})), limit=4, offset=8)
    assert (page.total, ids(page)) == (10, ["25", "28"])
    assert {job.user for job in page.jobs} == {"u0", "u1", "u2"}


def test_a_user_sees_own_finished_jobs_and_a_coordinator_those_of_the_account():
    rows = with_ended(
        ended(1, timedelta(hours=1)),
        ended(2, timedelta(hours=1), user="bob"),
        ended(3, timedelta(hours=1), user="mallory", account="chemistry", name="secret-run"),
    )
    mine = ask(rows, viewer=ALICE)
    assert ids(mine) == ["1"] and "mallory" not in repr(mine) and "secret" not in repr(mine)
    assert sorted(ids(ask(rows, viewer=HEAD))) == ["1", "2"]


def test_each_day_is_read_once_for_all_who_ask():
    asked = with_ended(*[ended(number, number * DAY) for number in range(7)])
    sources = open_fakes(asked)
    for viewer in (STAFF, ALICE, HEAD):
        finished(viewer, sources, JobFilter(), until=NOW, days=7)
    assert asked.calls.count("finished_jobs") == 8


def test_a_budget_leaves_older_days_for_the_next_call():
    asked = with_ended(*[ended(number, number * DAY + timedelta(hours=1)) for number in range(7)])
    sources = open_fakes(asked)
    first = finished(STAFF, sources, JobFilter(), until=NOW, days=6, budget_seconds=0.0)
    assert (first.unread, ids(first)) == (6, ["0"])
    whole = finished(STAFF, sources, JobFilter(), until=NOW, days=6)
    assert whole.unread == 0 and whole.total == 6


def test_a_day_that_cannot_be_read_is_named_and_the_others_are_kept():
    asked = with_ended(ended(1, DAY), ended(2, timedelta(hours=1)))
    whole = asked.finished_jobs

    def half(since: datetime, until: datetime):
        if since.day == NOW.day - 1:
            raise SourceUnreachable("no slurmdbd")
        return whole(since, until)

    asked.finished_jobs = half
    page = ask(asked, days=1)
    assert ids(page) == ["2"] and page.unknown == ("The jobs that ended on 2026-03-09 could not be read.",)


def test_no_readable_day_is_an_error_of_the_list_and_running_jobs_stay():
    asked = scheduler()

    def broken(since: datetime, until: datetime):
        raise SourceUnreachable("no slurmdbd")

    asked.finished_jobs = broken
    found = job_list(STAFF, open_fakes(asked), ListQuestion(Show.FINISHED))
    assert isinstance(found.error, SourceUnreachable) and (found.running, found.pending) == (4, 11)
    with pytest.raises(SourceUnreachable):
        list(every_row(STAFF, open_fakes(asked), ListQuestion(Show.FINISHED)))


@pytest.mark.parametrize(
    "question",
    [{"days": 0}, {"days": 8}, {"sort": "luck"}, {"limit": 0}, {"limit": 10_001}, {"offset": -1}],
)
def test_an_impossible_question_is_refused(question: dict[str, object]):
    with pytest.raises(BadRequest):
        ask(scheduler(), **question)


def test_running_and_waiting_are_two_lists_with_counts_of_both():
    running = job_list(STAFF, open_fakes(), ListQuestion(Show.RUNNING))
    waiting = job_list(STAFF, open_fakes(), ListQuestion(Show.PENDING))
    assert {row.job.state for row in running.rows} == {"RUNNING"} and running.total == 4
    assert {row.job.state for row in waiting.rows} == {"PENDING"} and waiting.total == 2
    assert (running.running, running.pending) == (waiting.running, waiting.pending) == (4, 11)


def test_idle_jobs_come_first_and_a_user_counts_only_own_ones():
    assert [row.gpus_idle for row in job_list(STAFF, open_fakes(), ListQuestion()).rows][:2] == [2, 1]
    mine = job_list(ALICE, open_fakes(), ListQuestion())
    assert (mine.running, mine.pending, mine.options["user"]) == (2, 1, ("alice",))


def test_a_sort_of_another_list_falls_back_to_the_usual_one():
    assert ListQuestion(Show.FINISHED, sort="-idle").order == "-end"
    assert ListQuestion(Show.RUNNING, sort="-idle").order == "-idle"


def test_every_row_of_a_large_list_comes_page_after_page():
    asked = with_ended(*[ended(number, timedelta(seconds=number)) for number in range(1, 12_001)])
    rows = list(every_row(STAFF, open_fakes(asked), ListQuestion(Show.FINISHED)))
    assert len({row.job.display_id for row in rows}) == len(rows) == 12_000


def test_what_slurm_does_not_keep_comes_from_the_history_in_one_reading(tmp_path, monkeypatch):
    cluster = SmallCluster(tmp_path / "history")
    hour = timedelta(hours=1)
    measured = [attempt(number, COLLECTED - 3 * hour, COLLECTED - hour) for number in (1, 2)]
    cluster.done = [replace(job, admin_comment=summary(job.job_id / 10)) for job in measured]
    cluster.collect()
    cluster.done = [*measured, attempt(3, COLLECTED - 3 * hour, COLLECTED - hour)]
    read = []
    monkeypatch.setattr(recorded_use, "recorded_use", lambda *given: read.append(given) or found(*given))
    page = finished(STAFF, cluster.sources(), JobFilter(), until=COLLECTED, days=1, sort="id")
    assert [(row.job.job_id, row.utilization, row.source) for row in page.rows] == [
        (1, pytest.approx(0.1), UseSource.JS1),
        (2, pytest.approx(0.2), UseSource.JS1),
        (3, None, UseSource.NONE),
    ]
    assert len(read) == 1


def test_another_attempt_of_the_same_id_lends_no_utilization(tmp_path):
    cluster = SmallCluster(tmp_path / "history")
    first = attempt(1, COLLECTED - timedelta(hours=3), COLLECTED - timedelta(hours=2), admin_comment=summary(0.5))
    cluster.done = [first]
    cluster.collect()
    cluster.done = [attempt(1, COLLECTED - timedelta(hours=2), COLLECTED - timedelta(hours=1))]
    page = finished(STAFF, cluster.sources(), JobFilter(), until=COLLECTED, days=1)
    assert [row.utilization for row in page.rows] == [None]


def test_the_last_page_of_a_queue_of_25000_jobs_is_a_page_like_the_first():
    asked = scheduler()
    asked.job_rows = [
        make_job(number, "", state="PENDING", priority=number, start_time=None) for number in range(1, 25_001)
    ]
    sources = open_fakes(asked)
    last = job_list(STAFF, sources, ListQuestion(Show.PENDING, offset=24_950))
    assert (last.total, len(last.rows), ids(last)[0], ids(last)[-1]) == (25_000, 50, "50", "1")
    first = job_list(STAFF, sources, ListQuestion(Show.PENDING, sort="priority"))
    assert ids(first)[:2] == ["1", "2"]
