"""Random jobs, faults and crashes: never a cancel without its notices, never a step twice, never on missing data.

`POLICY_EXAMPLES=2000 pytest tests/policy/test_policy_properties.py` looks longer than the whole check does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from policy.decide import Act, Cancelled, Situation, decide
from policy.judge import judge_job
from policy.ladder import Episode, EpisodeKey, take
from policy.model import attempt_of
from settings import RuleKind, StepAction
from tests.policy.random_lives import (
    BY_NAME,
    JUDGING,
    MINUTES,
    POLICY,
    RULES,
    T0,
    Life,
    check_data,
    is_whole,
    life_at,
    marks,
    worlds,
)

EXAMPLES = int(os.environ.get("POLICY_EXAMPLES", "55"))  # 55 x 8 jobs x 24 h = 10,560 job-hours


@dataclass
class Done:
    act: Act
    minute: int
    is_certain: bool


class World:
    """The enforcer's loop with a store that keeps only what was committed, and everything that can go wrong."""

    def __init__(self, given: dict) -> None:
        self.lives = [life_at(number, one) for number, one in enumerate(given["jobs"])]
        self.no_timer, self.no_metrics = marks(given["no_timer"]), marks(given["no_metrics"])
        self.jumps, self.crashes, self.every = given["jumps"], given["crashes"], given["every"]
        self.store: dict[EpisodeKey, Episode] = {}
        self.done: list[Done] = []
        self.cancelled: list[Cancelled] = []

    def run(self) -> None:
        for number, minute in enumerate(range(0, MINUTES, self.every)):
            if not self.no_timer[minute]:
                self.one_pass(minute, crashes=number in self.crashes)

    def skew(self, minute: int) -> int:
        return sum(by for begin, by in self.jumps if begin <= minute < begin + 60)

    def one_pass(self, minute: int, *, crashes: bool) -> None:
        clock = minute + self.skew(minute)
        now = T0 + timedelta(minutes=clock)
        fault = "down" if self.no_metrics[minute] else "clock" if self.skew(minute) else ""
        here = [(life, job) for life in self.lives if (job := life.at(minute)) is not None]
        verdicts = tuple(
            judge_job(life.evidence(job, clock, minute, fault), RULES, JUDGING, now)
            for life, job in here
            if job.is_running
        )
        present = frozenset(attempt_of(job) for _, job in here)
        situation = Situation(verdicts, len(here), self.store, {}, tuple(self.cancelled), present)
        decision = decide(situation, RULES, POLICY, UTC, now)
        assert len({attempt_of(act.job) for act in decision.acts}) == len(decision.acts)
        self.store = dict(decision.episodes)
        for act in decision.acts:
            self.done.append(Done(act, minute, not crashes))
            if crashes:
                return  # killed after the act and before it was written down
            key = (attempt_of(act.job), act.rule)
            self.store[key] = take(self.store[key], now)
            if act.action is StepAction.CANCEL:
                self.cancelled.append(Cancelled(act.job.user or "", now))
                self.lives = [life for life in self.lives if life.job.job_id != act.job.job_id]


def life_of(world: list[Life], act: Act) -> Life:
    return next(life for life in world if life.job.job_id == act.job.job_id)


def check(lives: list[Life], world: World) -> None:
    done, metrics_down, jumps, every = world.done, world.no_metrics, world.jumps, world.every
    passes = ~world.no_timer & ~metrics_down
    for begin, _ in jumps:
        passes[begin : begin + 60] = False
    earlier: dict[tuple, list[Done]] = {}
    for one in done:
        act = one.act
        same = earlier.setdefault(act.key[:3], [])
        assert not any(other.act.step == act.step and other.is_certain for other in same), "a step twice"
        steps = {other.act.step: other.minute for other in same}
        assert set(range(1, act.step)) <= set(steps), "a step was skipped"
        rule = BY_NAME[act.rule]
        if act.step > 1:
            waited = (one.minute - steps[act.step - 1]) * 60
            assert waited >= rule.steps[act.step - 1].notice_seconds, "less than its notice"
        check_data(life_of(lives, act), act, one.minute, metrics_down, jumps)
        if act.action is StepAction.CANCEL and rule.kind is RuleKind.IDLE:
            life = life_of(lives, act)
            since = max(0, min(steps.values()) - 45)
            looked = np.zeros(MINUTES + 1, bool)
            for minute in range(0, one.minute + 1, every):
                if passes[minute] and is_whole(life, minute - 45, minute):
                    looked[minute - 45 : minute] = True
            was_busy = looked & life.seen & (life.value > 0)
            assert not was_busy[since : one.minute].any(), "busy since the first warning, and looked at"
        same.append(one)


@pytest.mark.timeout(180 + 2 * EXAMPLES)  # a longer look takes longer
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
@given(worlds)
def test_no_act_is_ever_wrong_whatever_happens(given_world: dict) -> None:
    world = World(given_world)
    lives = list(world.lives)
    world.run()
    check(lives, world)


def test_an_idle_world_without_faults_is_cancelled_to_the_last_job() -> None:
    """So that the properties above are not those of a policy that does nothing."""
    quiet = {"busy": [], "missing": [], "stuck": [], "pause": None, "requeue": None, "level": 0.0}
    world = World({"jobs": [quiet] * 5, "no_timer": [], "no_metrics": [], "jumps": [], "every": 15, "crashes": set()})
    lives = list(world.lives)
    world.run()
    check(lives, world)
    assert [one.act.action for one in world.done].count(StepAction.CANCEL) == 5
    assert {one.minute for one in world.done} == {45, 75, 90}
