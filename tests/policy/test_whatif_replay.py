"""A replay is the ladder itself: step by step the same as the verdicts and the enforcer's decisions over samples."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.rules import Rule, rules_of
from policy.whatif.climb import Climbed, Ways, climb
from policy.whatif.replay import Past, replay
from policy.whatif.seen import seen
from policy.whatif.summing import outcome_of
from policy.whatif.timelines import PastJob, Timelines
from policy.whatif.variants import Changes, variant
from settings import PolicySettings
from tests.policy.ladder_by_hand import JOB, STEP_MINUTES, acts_by_hand

POLICY = PolicySettings(
    rules={
        "low-mean": {"mode": "act"},
        "short-mean": {
            "kind": "mean", "mode": "act", "window_minutes": 40, "threshold": 0.05, "close_minutes": 15,
            "grace_minutes": 20,
            "steps": [
                {"action": "warn", "at_minutes": 0},
                {"action": "warn", "at_minutes": 20},
                {"action": "cancel", "at_minutes": 45},
            ],
        },
        "warn-only": {
            "kind": "idle", "mode": "act", "grace_minutes": 10,
            "steps": [{"action": "warn", "at_minutes": 30}, {"action": "warn", "at_minutes": 60}],
        },
    },
    warn_only_days=0,
    stop_share=1.0,
)  # fmt: skip
RULES = {rule.name: rule for rule in rules_of(POLICY)}
WAYS = Ways(POLICY, UTC, busy_from=0.15)
runs = st.lists(st.tuples(st.sampled_from([0, 0, 3, 6, 40, None]), st.integers(1, 14)), min_size=1, max_size=14)


def lines_of(every: Sequence[Sequence[int | None]], step_seconds: float = 300.0) -> Timelines:
    counts = [len(steps) for steps in every]
    flat = [step for steps in every for step in steps]
    use = np.array([0.0 if step is None else step / 100 for step in flat])
    return Timelines(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.full(len(every), step_seconds),
        np.array(counts, dtype=float) * step_seconds,
        np.zeros(len(every), dtype=bool),
        use,
        use,
        np.array([0.0 if step is None else 1.0 for step in flat]),
    )


def climbed(rule: Rule, steps: Sequence[int | None]) -> Climbed:
    return climb(rule, JOB, seen(lines_of([steps]), rule), WAYS)


def spread(found: Sequence[tuple[int | None, int]]) -> list[int | None]:
    return [value for value, length in found for _ in range(length)]


@pytest.mark.parametrize("name", sorted(RULES))
@settings(max_examples=60, deadline=None)
@given(found=runs)
def test_a_replay_takes_the_steps_that_the_ladder_takes_over_the_same_timeline(
    name: str, found: list[tuple[int | None, int]]
) -> None:
    steps = spread(found)
    warned, cancelled = acts_by_hand(RULES[name], POLICY, steps, every=STEP_MINUTES)
    replayed = climbed(RULES[name], steps)
    assert [moment / 60 for moment in replayed.warned] == warned
    assert replayed.cancelled == (None if cancelled is None else cancelled * 60)


@pytest.mark.parametrize("name", ["idle", "low-mean", "short-mean"])
@settings(max_examples=25, deadline=None)
@given(busy=st.integers(0, 60), level=st.sampled_from([8, 30, 100]), idle=st.integers(1, 100))
def test_it_is_within_one_step_of_a_pass_every_minute(name: str, busy: int, level: int, idle: int) -> None:
    steps: list[int | None] = [level] * busy + [0] * idle
    warned, cancelled = acts_by_hand(RULES[name], POLICY, steps, every=1)
    replayed = climbed(RULES[name], steps)
    ends = len(steps) * STEP_MINUTES - STEP_MINUTES
    early = [minute for minute in warned if minute <= ends]
    late = [moment / 60 for moment in replayed.warned]
    assert len(early) <= len(late) <= len(warned)
    assert all(0 <= after - before <= STEP_MINUTES for before, after in zip(warned, late, strict=False))
    if cancelled is not None and cancelled <= ends:
        assert replayed.cancelled is not None
        assert 0 <= replayed.cancelled / 60 - cancelled <= STEP_MINUTES


def test_an_idle_run_climbs_the_shipped_ladder_and_a_busy_sample_begins_it_anew() -> None:
    assert climbed(RULES["idle"], [0] * 36) == Climbed((2700.0, 4500.0), 5400.0)
    assert climbed(RULES["idle"], [0] * 12 + [50] + [0] * 12) == Climbed((2700.0, 6600.0))
    assert climbed(RULES["idle"], [0] * 8 + [1] + [0] * 8) == Climbed()


def test_what_was_not_measured_is_neither_idle_nor_busy() -> None:
    assert climbed(RULES["idle"], [None] * 60) == Climbed()
    assert climbed(RULES["idle"], [0] * 4 + [None] * 3 + [0] * 4).warned == ()
    assert climbed(RULES["low-mean"], [0] * 20 + [None] * 30 + [0] * 20).warned == ()


def test_a_cancel_at_the_very_end_saves_nothing_and_is_none() -> None:
    assert climbed(RULES["idle"], [0] * 18) == Climbed((2700.0, 4500.0))
    assert climbed(RULES["idle"], [0] * 19).cancelled == 5400.0


@pytest.mark.parametrize(
    ("after", "is_alarm"), [([], False), ([14] * 9, False), ([15], True), ([None, 15, None, 0], True), ([None], False)]
)
def test_a_job_that_was_busy_after_its_cancel_is_a_false_alarm(after: list[int | None], is_alarm: bool) -> None:
    steps = [0] * 10 + [90] + [0] * 30 + after
    past = Past((PastJob(JOB, len(steps) * 300.0, 1.0, 1.0, 1),), lines_of([steps]))
    (hit,), _ = replay(RULES["idle"], past, [0], WAYS)
    assert hit.climbed.cancelled == (11 + 18) * 300.0
    assert hit.became_busy == is_alarm
    assert hit.held_gpu_hours == pytest.approx((len(steps) - 29) / 12)
    assert hit.used_gpu_hours == pytest.approx(sum(step or 0 for step in after) / 100 / 12)


@settings(max_examples=40, deadline=None)
@given(every=st.lists(runs, min_size=1, max_size=6), window=st.sampled_from([40.0, 60.0, 240.0]))
def test_a_higher_threshold_never_hits_fewer(every: list[list[tuple[int | None, int]]], window: float) -> None:
    steps = [spread(found) for found in every]
    jobs = tuple(PastJob(JOB, len(one) * 300.0, 1.0, 1.0, 1) for one in steps)
    past = Past(jobs, lines_of(steps))
    before = (0, 0, 0.0, 0)
    for threshold in (0.01, 0.03, 0.05, 0.09, 0.2):
        rule = variant(RULES["short-mean"], Changes(threshold, window))
        found = outcome_of(rule, replay(rule, past, range(len(jobs)), WAYS)[0], 0.5)
        now = (found.warned.jobs, found.cancelled.jobs, found.held_gpu_hours, found.false_alarms.jobs)
        assert all(one >= other for one, other in zip(now, before, strict=True))
        before = now


def test_steps_of_one_job_are_no_part_of_the_next() -> None:
    lines = lines_of([[50] * 10, [0] * 20, [0] * 20])
    said = seen(lines, RULES["idle"])
    for first, last in ((10, 30), (30, 50)):
        assert climb(RULES["idle"], JOB, said.part(first, last), WAYS).cancelled == 5400.0
