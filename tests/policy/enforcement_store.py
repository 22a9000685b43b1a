"""Enforcement stores for tests: SQLite in a folder, or a schema of its own in the test run's PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from data.enforcement.store import ENFORCEMENT
from data.state.store import StateStore, open_store
from policy.decide import Act
from policy.ladder import Episode
from policy.model import Status, Verdict, attempt_of
from settings import EnforcementSettings, RuleKind, RuleMode, StepAction
from tests.live.builders import make_job

NOW = datetime(2026, 3, 10, 12, 0, 0, 123456, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def opened(settings: EnforcementSettings, *, writes: bool = True) -> StateStore:
    store = open_store(settings, writes=writes, kind=ENFORCEMENT)
    assert store is not None
    return store


def in_folder(folder: Path, *, writes: bool = True) -> StateStore:
    return opened(EnforcementSettings(directory=folder), writes=writes)


def make_episode(job_id: int = 100, **fields: object) -> Episode:
    job = make_job(job_id)
    base: dict[str, object] = {"number": 1, "opened_at": NOW - 50 * MINUTE, "low_at": NOW, "seen_at": NOW}
    return Episode(attempt_of(job), "idle", **{**base, **fields})  # type: ignore[arg-type]


def make_act(job_id: int = 100, step: int = 1, action: StepAction = StepAction.WARN, **fields: object) -> Act:
    verdict = Verdict(
        "idle",
        RuleKind.IDLE,
        RuleMode.ACT,
        Status.LOW,
        sentence="Its only GPU is idle for at least 45 min.",
        window_seconds=2700.0,
        mean=0.0,
        coverage=1.0,
        idle_seconds=2700.0,
        devices_allocated=1,
    )
    wanted = str(job_id) if action is StepAction.CANCEL else None
    return Act(make_job(job_id, **fields), verdict, "idle", 1, step, action, NOW - 45 * MINUTE, wanted)
