"""Caps, order and ids of acts: pure decisions over values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from data.model import Job
from policy.calendar import may_step, next_opening
from policy.decide import Cancelled, Decision, Situation, cancel_id, decide
from policy.ladder import Episode
from policy.model import JobVerdict, Status, Verdict, attempt_of
from policy.rules import Exemption, rules_of
from settings import PolicySettings, RuleKind, RuleMode, StepAction
from tests.live.builders import make_job

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
POLICY = PolicySettings(warn_only_days=0)
MINUTES = timedelta(minutes=1)


def low(job: Job, idle_minutes: float = 90) -> JobVerdict:
    verdict = Verdict(
        "idle", RuleKind.IDLE, RuleMode.ACT, Status.LOW, window_seconds=2700.0, idle_seconds=idle_minutes * 60
    )
    return JobVerdict(job, NOW, verdict, (verdict,))


def about_to_be_cancelled(job: Job, idle_since_minutes: float = 200) -> Episode:
    opened = NOW - idle_since_minutes * MINUTES
    seen = NOW - 2 * MINUTES
    taken = (opened, opened + 30 * MINUTES)
    return Episode(attempt_of(job), "idle", 1, opened, seen, seen, low_seconds=5400.0, taken=taken)


def decided(
    jobs: Sequence[Job], policy: PolicySettings = POLICY, *, running: int = 1000, **situation: object
) -> Decision:
    episodes = {(attempt_of(job), "idle"): about_to_be_cancelled(job, 200 + number) for number, job in enumerate(jobs)}
    made = Situation(tuple(low(job) for job in jobs), running, episodes, **situation)  # type: ignore[arg-type]
    return decide(made, rules_of(policy), policy, UTC, NOW)


def jobs_of(count: int, user: str = "") -> list[Job]:
    return [make_job(1000 + number, user=user or f"u{number}") for number in range(count)]


def test_at_most_ten_cancellations_a_run_and_the_longest_low_go_first() -> None:
    decision = decided(jobs_of(15))
    assert [act.job.job_id for act in decision.acts] == [1014 - number for number in range(10)]
    assert {one.why for one in decision.withheld} == {"at most 10 cancellations a run"}
    assert len(decision.withheld) == 5 and not decision.alarms


def test_at_most_twenty_an_hour() -> None:
    recent = tuple(Cancelled(f"x{number}", NOW - 59 * MINUTES) for number in range(18))
    older = tuple(Cancelled(f"y{number}", NOW - 61 * MINUTES) for number in range(50))
    decision = decided(jobs_of(6), cancelled=recent + older)
    assert len(decision.acts) == 2
    assert {one.why for one in decision.withheld} == {"at most 20 cancellations an hour"}


def test_at_most_five_a_user_and_hour_and_others_go_on() -> None:
    recent = (Cancelled("alice", NOW - 10 * MINUTES), Cancelled("alice", NOW - 20 * MINUTES))
    hers, others = jobs_of(5, "alice"), [replace(job, job_id=job.job_id + 50) for job in jobs_of(3)]
    decision = decided([*hers, *others], cancelled=recent)
    by_user = [act.job.user for act in decision.acts]
    assert (by_user.count("alice"), len(by_user)) == (3, 6)


@pytest.mark.parametrize(("due", "running", "acts"), [(5, 8, 5), (6, 8, 0), (10, 100, 10), (11, 100, 0), (11, 110, 10)])
def test_a_run_that_would_hit_too_many_jobs_cancels_none_and_tells_staff(due: int, running: int, acts: int) -> None:
    decision = decided(jobs_of(due), running=running)
    assert len(decision.acts) == acts
    assert bool(decision.alarms) == (acts == 0)


def test_the_kill_switch_leaves_the_ladder_as_it_is() -> None:
    decision = decided(jobs_of(2), is_stopped=True)
    assert decision.acts == () and len(decision.withheld) == 2
    assert {len(episode.taken) for episode in decision.episodes.values()} == {2}


def test_a_rule_that_acts_since_yesterday_only_warns() -> None:
    policy = PolicySettings()
    assert decided(jobs_of(1), policy).acts == ()
    assert decided(jobs_of(1), policy, acting_since={"idle": NOW - timedelta(days=6.9)}).acts == ()
    assert len(decided(jobs_of(1), policy, acting_since={"idle": NOW - timedelta(days=8)}).acts) == 1


def test_episodes_live_as_long_as_their_jobs_and_freeze_while_slurm_is_silent() -> None:
    (job,) = jobs_of(1)
    episode = about_to_be_cancelled(job)
    for present, kept in ((frozenset(), False), (None, True), (frozenset({attempt_of(job)}), True)):
        made = Situation((), 10, {episode.key: episode}, present=present)
        decision = decide(made, rules_of(POLICY), POLICY, UTC, NOW)
        assert (episode.key in decision.episodes) == kept
        assert all(one.frozen_since is not None for one in decision.episodes.values())


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, "100"),
        ({"array_job_id": 100, "array_task_id": 7, "display_id": "100_7"}, "100_7"),
        ({"array_job_id": 90, "array_task_id": 0, "display_id": "90_0"}, "90_0"),
        ({"het_job_id": 100, "het_offset": 0, "display_id": "100+0"}, "100"),
        ({"array_job_id": 100, "display_id": "100_[1-5]"}, None),
        ({"array_task_id": 3}, None),
        ({"display_id": "100_7"}, None),
    ],
)
def test_what_is_cancelled_is_never_more_than_the_job(fields: dict[str, object], wanted: str | None) -> None:
    assert cancel_id(make_job(100, **fields)) == wanted


def test_a_job_that_cannot_be_named_is_not_cancelled() -> None:
    decision = decided([make_job(100, array_job_id=100, display_id="100_[1-5]")])
    assert decision.acts == () and decision.withheld[0].why == "it cannot be told what to cancel"


def test_a_warning_of_one_job_does_not_count_against_the_caps() -> None:
    fresh = [make_job(2000 + number, user=f"w{number}") for number in range(40)]
    made = Situation(tuple(low(job, 45) for job in fresh), 50)
    decision = decide(made, rules_of(POLICY), POLICY, UTC, NOW)
    assert {act.action for act in decision.acts} == {StepAction.WARN} and len(decision.acts) == 40
    assert len({act.key for act in decision.acts}) == 40


@pytest.mark.parametrize(
    ("moment", "open_"),
    [("2026-03-10T22:00", False), ("2026-03-10T21:59", True), ("2026-03-11T06:59", False), ("2026-03-14T12:00", False)],
)
def test_quiet_hours_cross_midnight_and_days_are_the_sites(moment: str, open_: bool) -> None:
    policy = PolicySettings(quiet_from="22:00", quiet_until="07:00", mail_days=["mon", "tue", "wed", "thu", "fri"])
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert may_step(policy, UTC, at) == open_
    opening = next_opening(policy, UTC, at)
    assert may_step(policy, UTC, opening) and opening >= at


@pytest.mark.parametrize(
    ("kind", "name", "rule", "until", "holds"),
    [
        ("user", "alice", "", 1, True),
        ("user", "bob", "", 1, False),
        ("user", "alice", "low-mean", 1, False),
        ("user", "alice", "idle", 1, True),
        ("user", "alice", "", 0, False),
        ("job", "100", "", 1, True),
        ("account", "physics", "", 1, True),
        ("state", "RUNNING", "", 1, False),
    ],
)
def test_an_exemption_holds_for_its_subject_rule_and_time(
    kind: str, name: str, rule: str, until: int, holds: bool
) -> None:
    one = Exemption(kind, name, NOW + until * MINUTES, "because", rule)
    assert one.holds(make_job(100), "idle", NOW) == holds
