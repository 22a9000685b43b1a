"""The verdicts and the ladder of one job over a timeline of steps, with a pass every so many minutes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from data.model import Job, Tres
from policy.decide import Situation, decide
from policy.doubts import Limits
from policy.judge import Judging, judge_job
from policy.ladder import take
from policy.model import DeviceUse, Evidence, WindowUse
from policy.rules import Rule
from settings import PolicySettings, StepAction

T0 = datetime(2026, 3, 10, tzinfo=UTC)
STEP_MINUTES = 5
JOB = Job(
    "demo", 1, "1", "RUNNING", user="alice", partition="gpu", submit_time=T0, start_time=T0, nodes=("gpu01",),
    allocated=Tres(gpus=1), is_batch=True, time_limit_seconds=86400.0,
)  # fmt: skip


def minutes_of(steps: Sequence[int | None]) -> list[float | None]:
    """A sample a minute, as ratio; steps are percent, None = not measured."""
    return [None if step is None else step / 100 for step in steps for _ in range(STEP_MINUTES)]


def evidence_at(rule: Rule, samples: Sequence[float | None], minute: int) -> Evidence:
    uses = {}
    for window in rule.windows:
        found = [value for value in samples[max(0, minute - round(window / 60)) : minute] if value is not None]
        extremes = (min(found), max(found)) if found else (None, None)
        uses[(rule.metric, window)] = WindowUse(window, len(found), sum(found), *extremes)
    device = DeviceUse("gpu01", "gpu01:0", uses)
    return Evidence(JOB, 1, (device,), interval_seconds=60.0)


def acts_by_hand(
    rule: Rule, policy: PolicySettings, steps: Sequence[int | None], every: int
) -> tuple[list[float], float | None]:
    """Minutes of the warnings and of the cancel, with a pass every `every` minutes while the job runs."""
    samples = minutes_of(steps)
    judging = Judging((rule,), policy, Limits())
    episodes: dict = {}
    warned: list[float] = []
    for minute in range(every, len(samples), every):
        now = T0 + timedelta(minutes=minute)
        verdict = judge_job(evidence_at(rule, samples, minute), (rule,), judging, now)
        found = decide(Situation((verdict,), 1, episodes), (rule,), policy, UTC, now)
        episodes = dict(found.episodes)
        for act in found.acts:
            if act.action is StepAction.CANCEL:
                return warned, minute
            warned.append(minute)
            key = (act.key[0], rule.name)
            episodes[key] = take(episodes[key], now)
    return warned, None
