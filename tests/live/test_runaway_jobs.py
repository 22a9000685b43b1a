"""Runaway jobs: only accounting believes that they run. Never from one asking alone, and nowhere among the numbers."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from data.attention import attention
from data.cache import MemoryCache
from data.errors import SourceDenied
from data.live import LiveCluster
from data.live.runaway import confirmed, hidden_by_slurmctld, unknown_to_slurmctld
from data.model import ClusterSnapshot, Job, NodeFilter, Role, Tres, Viewer
from data.narrowing import narrow
from data.queries.scope import scope_snapshot
from data.totals import totals
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node

LOST = make_job(7, start_time=NOW - timedelta(days=6), user="bob", account="chem")
SLOW = timedelta(minutes=11)


class Seen:
    """A live cluster whose clock is set by hand."""

    def __init__(self, **fields: object) -> None:
        self.now = NOW
        self.scheduler = FakeScheduler(node_rows=[make_node()], job_rows=[make_job(100)], **fields)  # type: ignore[arg-type]
        self.live = LiveCluster(self.scheduler, FakeMetrics(clock=self.clock), MemoryCache(), self.clock)

    def clock(self) -> datetime:
        return self.now

    def after(self, wait: timedelta) -> ClusterSnapshot:
        self.now += wait
        before = self.live.snapshot().version
        for _ in range(200):
            shown = self.live.snapshot()
            if shown.version != before and shown.made_at == self.now:
                return shown
            self.live._refresh_behind().join(0.05)
        return self.live.snapshot()


def ids(shown: ClusterSnapshot) -> list[int]:
    return [job.job_id for job in shown.runaway]


@pytest.mark.parametrize(
    ("accounted", "found"),
    [
        ([], []),
        ([make_job(100)], []),
        ([LOST], [7]),
        ([make_job(9), LOST], [7, 9]),
        ([make_job(8, end_time=NOW)], []),
        ([make_job(8, start_time=None)], []),
        ([LOST, LOST], [7]),
    ],
)
def test_rows_without_an_end_that_slurmctld_does_not_know(accounted: list[object], found: list[int]) -> None:
    jobs = unknown_to_slurmctld(accounted, [make_job(100)])  # type: ignore[arg-type]
    assert [job.job_id for job in jobs] == found


@pytest.mark.parametrize(
    ("given", "seen", "hidden"),
    [
        (0, [], []),
        (8, [], [7]),
        (8, [make_job(100)], []),
        (16, [make_job(100)], []),  # whole cores for a job that asked for single threads
        (24, [make_job(100)], [7]),
        (24, [make_job(100, allocated=Tres())], []),
        (8, [make_job(100, state="COMPLETED")], [7]),
        (None, [], []),
    ],
)
def test_cpus_given_away_to_nobody_that_is_named_may_be_a_hidden_jobs(
    given: int | None, seen: list[Job], hidden: list[int]
) -> None:
    found = hidden_by_slurmctld([LOST, make_job(9, node="gone")], [make_node(allocated_cpus=given)], seen)
    assert [job.job_id for job in found] == hidden


def test_a_job_that_slurmctld_may_hide_from_us_is_not_named() -> None:
    seen = Seen(accounted=[make_job(100), LOST])
    seen.scheduler.node_rows = [make_node(allocated_cpus=64)]
    seen.live.snapshot()
    assert ids(seen.after(SLOW)) == []
    seen.scheduler.node_rows = [make_node(allocated_cpus=8)]
    assert ids(seen.after(SLOW)) == []
    assert ids(seen.after(SLOW)) == [7]


def test_only_a_second_asking_confirms() -> None:
    assert confirmed([LOST], []) == ()
    assert confirmed([LOST], [LOST.key]) == (LOST,)
    assert confirmed([make_job(7)], [LOST.key]) == ()  # the id was given anew: another attempt


def test_the_picture_names_them_after_ten_minutes_and_drops_them_when_they_are_ended() -> None:
    seen = Seen(accounted=[make_job(100), LOST])
    assert ids(seen.live.snapshot()) == []
    assert ids(seen.after(timedelta(minutes=2))) == []  # accounting is not asked again yet
    assert ids(seen.after(SLOW)) == [7]
    assert ids(seen.after(timedelta(minutes=2))) == [7]
    assert seen.scheduler.calls.count("accounted_running") == 2
    seen.scheduler.accounted = [make_job(100)]
    assert ids(seen.after(SLOW)) == []


def test_while_accounting_fails_the_last_answer_stands_and_the_page_says_so() -> None:
    seen = Seen(accounted=[LOST])
    seen.live.snapshot()
    assert ids(seen.after(SLOW)) == [7]
    seen.scheduler.slow_fault = SourceDenied("slurmdbd is away")
    shown = seen.after(SLOW)
    assert ids(shown) == [7]
    assert any(text == "jobs in accounting: slurmdbd is away" for text in shown.sources[0].warnings)


def test_a_past_moment_names_those_that_had_begun_and_counts_none_of_them() -> None:
    seen = Seen(accounted=[LOST], past_fault=None)
    seen.live.snapshot()
    seen.after(SLOW)
    assert ids(seen.live.at(NOW - timedelta(days=1))) == [7]
    assert ids(seen.live.at(NOW - timedelta(days=8))) == []


def shown_with(*jobs: object) -> ClusterSnapshot:
    return ClusterSnapshot("demo", NOW, NOW, nodes=(make_node(),), jobs=(make_job(100),), runaway=tuple(jobs))  # type: ignore[arg-type]


def test_they_count_in_no_total() -> None:
    assert totals(shown_with(LOST)) == totals(shown_with())


def test_the_line_names_a_few_counts_the_rest_and_leads_to_health() -> None:
    many = [make_job(number, start_time=NOW - timedelta(days=number)) for number in range(1, 7)]
    (line,) = attention(shown_with(*reversed(many)))
    assert line.subject == "6 runaway jobs" and line.target_kind == "source"
    assert line.text == "only accounting believes that 6, 5, 4 and 3 more run" and line.since == many[-1].start_time
    assert attention(shown_with(LOST))[0].text == "only accounting believes that 7 runs"


def test_a_user_sees_the_own_ones_and_of_others_only_how_many() -> None:
    shown = shown_with(LOST, make_job(9, user="alice"))
    alice = scope_snapshot(Viewer("alice", Role.USER), shown)
    assert [job.display_id for job in alice.runaway] == ["", "9"] and "bob" not in repr(alice.runaway)
    assert attention(alice)[0].text == "only accounting believes that 9 runs"
    assert attention(scope_snapshot(Viewer("eve", Role.USER), shown)) == ()


def test_filters_leave_out_those_of_other_nodes() -> None:
    shown = shown_with(LOST, make_job(9, node="gone"))
    assert ids(narrow(shown, NodeFilter(text="gpu01"))) == [7]
