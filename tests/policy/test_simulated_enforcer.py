"""The enforcer of the simulated cluster: the same for everybody at any time, fair to its rules, and never acting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from data.model import Role, Viewer
from data.sources import Sources, open_sources
from policy.exempted import exemptions
from policy.queries import verdicts
from policy.simulated import is_simulated, simulated_exemptions
from policy.taken import acts
from settings import (
    CacheSettings,
    DemoSettings,
    EnforcementSettings,
    IdentityKind,
    IdentitySettings,
    MetricsKind,
    MetricsSettings,
    Settings,
    SlurmKind,
    SlurmSettings,
    StepAction,
)

NOW = datetime(2026, 3, 10, 15, 2, tzinfo=UTC)
STAFF = Viewer("sam", Role.STAFF)


def demo(now: datetime = NOW, **more: object) -> Sources:
    settings = Settings(
        slurm=SlurmSettings(kind=SlurmKind.SIMULATED),
        metrics=MetricsSettings(kind=MetricsKind.SIMULATED),
        identity=IdentitySettings(kind=IdentityKind.DEMO),
        cache=CacheSettings(kind="memory"),
        demo=DemoSettings(history_days=0),
        **more,  # type: ignore[arg-type]
    )
    return open_sources(settings, clock=lambda: now)


@pytest.fixture(scope="module")
def sources() -> Sources:
    return demo()


def test_ladders_follow_from_how_long_jobs_are_idle(sources: Sources) -> None:
    found = verdicts(STAFF, sources)
    low = [each for one in found.verdicts for each in one.verdicts if each.rule == "idle" and each.status == "low"]
    assert low, "the demo has a low job at this time"
    for each in low:
        minutes = (NOW - each.since).total_seconds() / 60 if each.since else 0
        assert minutes >= 45 and each.steps_taken <= sum(minutes >= at for at in (45, 75)), each
        assert (each.next_action is StepAction.CANCEL) == (each.steps_taken == 2), "the cancel is never taken"
    assert verdicts(STAFF, demo()).verdicts == found.verdicts


def test_past_acts_are_the_same_whenever_they_are_asked_for(sources: Sources) -> None:
    found = acts(STAFF, sources, NOW)
    assert found.is_simulated and found.savings is not None and found.savings.saved_gpu_hours > 0
    later = acts(STAFF, demo(NOW + timedelta(days=1)), NOW)
    assert set(found.rows) <= set(later.rows) and len(found.rows) > 20
    assert acts(STAFF, demo(), NOW) == found
    steps: dict[str, list[int]] = {}
    for row in reversed(found.rows):
        steps.setdefault(row.job, []).append(row.step)
    assert all(after in (before + 1, 1) for numbers in steps.values() for before, after in pairwise(numbers))
    assert [1, 2, 3] in steps.values()


def test_exemptions_go_on_and_have_an_end(sources: Sources) -> None:
    for day in range(0, 60, 7):
        now = NOW + timedelta(days=day)
        found = simulated_exemptions(sources.settings, now)
        assert len(found) == 3 and all(one.created_at <= now < one.until for one in found)
    rows = exemptions(STAFF, sources).rows
    assert {row.id for row in rows if row.id} == {"demo-1", "demo-2", "demo-3"}


def test_a_store_of_ones_own_takes_its_place(tmp_path: object) -> None:
    own = demo(enforcement=EnforcementSettings(directory=tmp_path))  # type: ignore[arg-type]
    assert not is_simulated(own) and acts(STAFF, own, NOW).rows == ()
