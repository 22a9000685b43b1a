"""Random jobs, faults and crashes: never a cancel without its notices, never a step twice, never on missing data.

`POLICY_EXAMPLES=2000 pytest tests/policy/test_policy_properties.py` looks longer than the whole check does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.model import Job, Tres
from policy.decide import Act, Cancelled, Situation, decide
from policy.doubts import Limits
from policy.judge import Judging, judge_job
from policy.ladder import Episode, EpisodeKey, take
from policy.model import DeviceUse, Evidence, WindowUse, attempt_of
from policy.rules import rules_of
from settings import PolicySettings, RuleKind, StepAction

T0 = datetime(2026, 3, 10, tzinfo=UTC)
HOURS, JOBS = 24, 8
MINUTES = HOURS * 60
EXAMPLES = int(os.environ.get("POLICY_EXAMPLES", "55"))  # 55 x 8 jobs x 24 h = 10,560 job-hours
POLICY = PolicySettings(rules={"low-mean": {"mode": "act"}}, warn_only_days=0, stop_share=1.0)
RULES = rules_of(POLICY)
JUDGING = Judging(RULES, POLICY, Limits())
BY_NAME = {rule.name: rule for rule in RULES}

spans = st.lists(st.tuples(st.integers(0, MINUTES), st.integers(1, 400)), max_size=4)
jobs = st.fixed_dictionaries(
    {
        "busy": spans,
        "missing": spans,
        "stuck": st.lists(st.tuples(st.integers(0, MINUTES), st.integers(30, 600)), max_size=1),
        "pause": st.none() | st.tuples(st.integers(60, MINUTES), st.integers(1, 120)),
        "requeue": st.none() | st.integers(60, MINUTES),
        "level": st.sampled_from([0.0, 0.0, 0.03, 0.2]),
    }
)
worlds = st.fixed_dictionaries(
    {
        "jobs": st.lists(jobs, min_size=JOBS, max_size=JOBS),
        "no_timer": spans,
        "no_metrics": spans,
        "jumps": st.lists(st.tuples(st.integers(0, MINUTES), st.sampled_from([-180, -20, 20, 180])), max_size=1),
        "every": st.sampled_from([15, 30, 45, 60]),
        "crashes": st.sets(st.integers(0, 48), max_size=12),
    }
)


def marks(found: list[tuple[int, int]]) -> np.ndarray:
    made = np.zeros(MINUTES + 1, bool)
    for begin, length in found:
        made[begin : begin + length] = True
    return made


@dataclass
class Life:
    """One job: minute by minute what its two devices did, and what was seen of it."""

    job: Job
    given: dict
    value: np.ndarray = field(init=False)
    seen: np.ndarray = field(init=False)
    stuck: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.value = np.where(marks(self.given["busy"]), 0.9, self.given["level"])
        self.seen = ~marks(self.given["missing"])
        self.stuck = marks(self.given["stuck"])
        shown = np.where(self.seen, self.value, 0.0)
        self.counts, self.totals, self.highs = (
            np.concatenate([[0.0], np.cumsum(part)]).tolist() for part in (self.seen, shown, shown > 0)
        )
        self.work = np.concatenate([[0.0], np.cumsum(self.stuck * 0.5)]).tolist()

    def at(self, minute: int) -> Job | None:
        """The job as Slurm tells it."""
        job, again, pause = self.job, self.given["requeue"], self.given["pause"]
        if again is not None and minute >= again:
            job = replace(job, start_time=T0 + timedelta(minutes=again), restart_count=1)
        start = 0 if again is None or minute < again else again
        if pause is not None and start <= pause[0] <= minute:
            begin, end = pause[0], pause[0] + pause[1]
            if minute < end:
                return replace(job, state="SUSPENDED", suspend_time=T0 + timedelta(minutes=begin))
            resumed = T0 + timedelta(minutes=end)
            return replace(job, suspended_seconds=pause[1] * 60.0, resumed_time=resumed)
        return job

    def evidence(self, job: Job, now: int, real: int, fault: str) -> Evidence:
        """`now` by the clock of the product, `real` the minute up to which samples exist."""
        uses, signals = {}, {}
        for rule in RULES:
            for window in rule.windows:
                first, last = max(0, min(real, now - int(window / 60))), max(0, min(real, now))
                count, total, high = (
                    float(part[last] - part[first]) for part in (self.counts, self.totals, self.highs)
                )
                uses[rule.metric, window] = WindowUse(window, int(count), total, 0.0, 0.9 if high else 0.0)
                signals[window] = {"sm_activity": float(self.work[last] - self.work[first]) / max(1, last - first)}
        devices = tuple(DeviceUse("n1", f"n1/{number}", uses, signals) for number in range(2))
        return Evidence(job, 2, devices, interval_seconds=60.0, fault=fault)


@dataclass
class Done:
    act: Act
    minute: int
    is_certain: bool


class World:
    """The enforcer's loop with a store that keeps only what was committed, and everything that can go wrong."""

    def __init__(self, given: dict) -> None:
        start = T0
        self.lives = [
            Life(
                Job(
                    "demo",
                    100 + number,
                    str(100 + number),
                    "RUNNING",
                    user=f"u{number}",
                    submit_time=start,
                    start_time=start,
                    nodes=("n1",),
                    allocated=Tres(gpus=2),
                    is_batch=True,
                ),
                one,
            )
            for number, one in enumerate(given["jobs"])
        ]
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


def is_whole(life: Life, begin: int, end: int) -> bool:
    """Whether the attempt ran all of this time."""
    pause, again = life.given["pause"], life.given["requeue"]
    paused = pause is not None and pause[0] < end and begin < pause[0] + pause[1]
    return begin >= 0 and not paused and (again is None or end <= again or begin >= again)


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
        check_data(life_of(lives, act), one, metrics_down, jumps)
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


def check_data(life: Life, one: Done, metrics_down: np.ndarray, jumps: list[tuple[int, int]]) -> None:
    """The truth behind an act, from the raw minutes."""
    minute, rule = one.minute, BY_NAME[one.act.rule]
    window = int(rule.windows[0] / 60)
    assert not metrics_down[minute], "acted while the metrics were down"
    assert not any(begin <= minute < begin + 60 for begin, _ in jumps), "acted by a wrong clock"
    job = life.at(minute)
    assert job is not None and job.is_running, "acted on a job that does not run"
    begin = minute - window
    seen = life.seen[begin:minute]
    assert begin >= 0 and seen.sum() >= 0.8 * window - 1, "acted on missing data"
    shown = life.value[begin:minute][seen]
    assert shown.max() == 0 if rule.kind is RuleKind.IDLE else shown.mean() < 0.05, "acted on a busy job"
    assert life.stuck[begin:minute].mean() * 0.5 <= 0.05, "acted against another signal"
    pause, again = life.given["pause"], life.given["requeue"]
    if pause is not None and pause[0] < minute and (again is None or minute < again or pause[0] >= again):
        assert begin >= pause[0] + pause[1], "acted on suspended time"
    assert again is None or minute < again or begin >= again, "acted on time before the attempt"


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
