"""Random lives of jobs, minute by minute, and what may be asked of any act on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from data.model import Job, Tres
from policy.decide import Act
from policy.doubts import Limits
from policy.judge import Judging
from policy.model import DeviceUse, Evidence, WindowUse
from policy.rules import rules_of
from settings import PolicySettings, RuleKind

T0 = datetime(2026, 3, 10, tzinfo=UTC)
HOURS, JOBS = 24, 8
MINUTES = HOURS * 60
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


def life_at(number: int, given: dict, users: int = 1000) -> Life:
    """A job of one of so many users, submitted and started at the beginning."""
    job = Job(
        "demo",
        100 + number,
        str(100 + number),
        "RUNNING",
        user=f"u{number % users}",
        submit_time=T0,
        start_time=T0,
        nodes=("n1",),
        allocated=Tres(gpus=2),
        is_batch=True,
    )
    return Life(job, given)


def is_whole(life: Life, begin: int, end: int) -> bool:
    """Whether the attempt ran all of this time."""
    pause, again = life.given["pause"], life.given["requeue"]
    paused = pause is not None and pause[0] < end and begin < pause[0] + pause[1]
    return begin >= 0 and not paused and (again is None or end <= again or begin >= again)


def check_data(life: Life, act: Act, minute: int, metrics_down: np.ndarray, jumps: list[tuple[int, int]]) -> None:
    """The truth behind an act, from the raw minutes."""
    rule = BY_NAME[act.rule]
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
