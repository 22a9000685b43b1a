"""The answer: what one rule would have done in a range."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from settings import RuleKind


@dataclass(frozen=True, slots=True)
class Amount:
    """Attempts, the users whose they are, and their allocated GPU-hours (known ones)."""

    jobs: int = 0
    users: int = 0
    gpu_hours: float = 0.0


@dataclass(frozen=True, slots=True)
class Apart:
    """Attempts that the rule was not replayed over, and why."""

    reason: str
    words: str
    amount: Amount


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one form of a rule does. `threshold` (ratio) and `window_seconds` are of kind mean, `first_step_seconds` of
    kind idle; None = not of this kind.

    `warnings` are mails. `saved_gpu_hours` is as METRICS has it, `saved_unknown` cancels are without a time limit and
    so not in it; `held_gpu_hours` are what the cancelled jobs really held after the cancel, and `used_gpu_hours` what
    they still used. `false_alarms` are cancelled jobs that became busy later.
    """

    threshold: float | None
    window_seconds: float | None
    first_step_seconds: float | None
    warned: Amount
    warnings: int
    cancelled: Amount
    false_alarms: Amount
    saved_gpu_hours: float
    saved_unknown: int
    held_gpu_hours: float
    used_gpu_hours: float


@dataclass(frozen=True, slots=True)
class UserHit:
    """One user whose jobs would have been warned or cancelled; GPU-hours as in `Outcome`."""

    user: str
    warned: int
    cancelled: int
    false_alarms: int
    saved_gpu_hours: float
    held_gpu_hours: float


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A cancelled attempt that became busy later. `after_seconds` is when it would have been cancelled."""

    job: str
    user: str
    partition: str
    gpus: int | None
    ended_at: datetime
    after_seconds: float
    held_gpu_hours: float
    used_gpu_hours: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One rule over the attempts with GPUs that ended in [since, until).

    `judged` could be replayed and are not exempt; `about` are all that the rule is about, and so judged + exempt +
    those of `apart`. `users_hit` are the users hit most, not all of them; so are `false_alarms`.
    `cannot` says why nothing was replayed at all. `saved_share` is the part of the time limit that jobs run for,
    `busy_from` the mean of a step from which on a job counts as busy again (ratios).
    """

    rule: str
    kind: RuleKind
    since: datetime
    until: datetime
    all_jobs: Amount
    about: Amount
    exempt: Amount
    judged: Amount
    apart: tuple[Apart, ...]
    outcome: Outcome
    saved_share: float
    busy_from: float
    users_hit: tuple[UserHit, ...] = ()
    false_alarms: tuple[FalseAlarm, ...] = ()
    curve: tuple[Outcome, ...] = ()
    notes: tuple[str, ...] = ()
    cannot: str = ""
