"""What was done: as the enforcer wrote it down, scoped, and the GPU-hours that it saved."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from data.enforcement.store import ENFORCEMENT
from data.errors import SourceUnreachable
from data.model import Tres
from data.sources import Sources
from data.state.store import StateStore
from policy.ladder import Episode
from policy.model import attempt_of
from policy.queries import verdict
from policy.rules import rule_of
from policy.store import audit
from policy.store.audit import Outcome, audit_rows, intend, settle
from policy.store.ladders import keep_acting_since, keep_episodes
from policy.taken import Ended, TakenAct, acts, saved_gpu_hours, savings_of, weight_of
from settings import EnforcementSettings, Settings, StepAction
from tests.policy.enforcement_store import MINUTE, NOW, in_folder, make_act
from tests.policy.test_verdict_scope import idle_everywhere
from tests.queries.cluster import ALICE, HEAD, STAFF, STRANGER, open_fakes

HOUR = 3600.0


def act(**fields: object) -> TakenAct:
    base: dict[str, object] = {
        "time": NOW, "job": "1", "user": "alice", "account": "physics", "partition": "gpu", "gpus": 4,
        "gpu_weight": 4.0, "rule": "idle",
        "step": 3, "action": StepAction.CANCEL, "ended": Ended.DONE, "elapsed_seconds": 2 * HOUR,
        "time_limit_seconds": 24 * HOUR,
    }  # fmt: skip
    return TakenAct(**{**base, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "share", "hours"),
    [
        ({}, 0.5, 4 * (12 - 2)),
        ({}, 1.0, 4 * (24 - 2)),
        ({"elapsed_seconds": 20 * HOUR}, 0.5, 0.0),
        ({"gpus": 1, "gpu_weight": 3 / 7}, 0.5, 3 / 7 * (12 - 2)),
        ({"gpu_weight": None}, 0.5, None),
        ({"time_limit_seconds": None}, 0.5, None),
        ({"time_limit_seconds": math.inf}, 0.5, None),
        ({"elapsed_seconds": None}, 0.5, None),
    ],
)
def test_what_a_cancellation_saves(changed: dict[str, object], share: float, hours: float | None) -> None:
    assert saved_gpu_hours(act(**changed), share) == (hours if hours is None else pytest.approx(hours))


@pytest.mark.parametrize(
    ("gpus", "types", "weight"),
    [
        (4, {"h100": 4}, 4.0),
        (2, {"3g.40gb": 1, "1g.10gb": 1}, 4 / 7),
        (3, {"h100": 1}, 3.0),
        (0, {}, 0.0),
        (None, {}, None),
    ],
)
def test_a_slice_weighs_its_share_of_a_gpu(gpus: int | None, types: dict[str, int], weight: float | None) -> None:
    found = weight_of(Tres(gpus=gpus, gpus_by_type=types))
    assert found == (weight if weight is None else pytest.approx(weight))


def test_only_what_was_done_is_summed_and_what_is_not_known_is_counted_apart() -> None:
    rows = [
        act(),
        act(user="bob", time_limit_seconds=math.inf),
        act(user="carol", ended=Ended.REFUSED),
        act(user="dan", action=StepAction.WARN, step=1),
        act(user="eve", action=StepAction.WARN, ended=Ended.UNKNOWN),
    ]
    found = savings_of(rows, NOW, NOW, 0.5)
    assert (found.saved_gpu_hours, found.cancelled_jobs, found.unknown_jobs, found.warnings) == (40.0, 2, 1, 1)
    assert (found.cancelled_users, found.touched_users) == (2, 3)


def with_acts(folder: Path) -> Sources:
    """alice was warned, mallory was cancelled, and Slurm refused one."""
    store = in_folder(folder)
    limits = {"time_limit_seconds": 10 * HOUR, "start_time": NOW - timedelta(hours=1)}
    rows = [
        (make_act(7, user="alice", **limits), Outcome.DONE),
        (make_act(90210, 3, StepAction.CANCEL, user="mallory", account="chemistry", gpus=2, **limits), Outcome.DONE),
        (make_act(90211, 3, StepAction.CANCEL, user="mallory", account="chemistry", **limits), Outcome.REFUSED),
        (make_act(8, 2, user="alice", **limits), None),
    ]
    with store.connection() as connection:
        for number, (one, outcome) in enumerate(rows):
            made = intend(connection, one, NOW + number * MINUTE)
            if outcome is not None:
                why = "because" if outcome is Outcome.REFUSED else ""
                settle(connection, made, outcome, NOW + number * MINUTE, why)
    settings = Settings(enforcement=EnforcementSettings(directory=folder))
    return replace(open_fakes(measured=idle_everywhere()), settings=settings)


def test_acts_are_those_that_a_viewer_may_see_the_newest_first(tmp_path: Path) -> None:
    sources, end = with_acts(tmp_path), NOW + timedelta(hours=1)
    found = acts(STAFF, sources, end)
    assert [(row.job, row.action.value, row.ended.value) for row in found.rows] == [
        ("8", "warn", "under_way"),
        ("90211", "cancel", "refused"),
        ("90210", "cancel", "done"),
        ("7", "warn", "done"),
    ]
    assert found.rows[1].why == "because"
    for viewer in (ALICE, HEAD):
        seen = acts(viewer, sources, end)
        assert ([row.job for row in seen.rows], seen.savings) == (["8", "7"], None)
    assert acts(STRANGER, sources, end).rows == ()
    assert acts(STAFF, sources, NOW + 1.5 * MINUTE).rows == found.rows[2:], "what came later is not of that moment"
    assert acts(STAFF, sources, NOW + timedelta(days=40)).rows == ()


def test_many_who_ask_within_half_a_minute_read_the_audit_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, read = with_acts(tmp_path), []
    monkeypatch.setattr(audit, "audit_rows", lambda *given: read.append(given) or audit_rows(*given))
    for seconds in range(3):
        assert len(acts(STAFF, sources, NOW + timedelta(hours=1, seconds=seconds)).rows) == 4
    assert len(read) == 1


def test_a_store_that_failed_is_left_alone_for_a_while(tmp_path: Path) -> None:
    sources, asked = with_acts(tmp_path), []

    def fails(store: StateStore) -> None:
        asked.append(store)
        raise SourceUnreachable("gone")

    for _ in range(2):
        with pytest.raises(SourceUnreachable, match="gone"):
            sources.enforcement.read(sources.settings.enforcement, fails)
    assert len(asked) == 1


def test_staff_see_what_was_saved_and_why_shares_are_not_known(tmp_path: Path) -> None:
    found = acts(STAFF, with_acts(tmp_path), NOW + timedelta(hours=1)).savings
    assert found is not None and (found.cancelled_jobs, found.cancelled_users, found.touched_users) == (1, 1, 2)
    assert found.saved_gpu_hours == pytest.approx(2 * (0.5 * 10 - 1 - 1 / 60))
    assert (found.allocated_gpu_hours, found.users) == (None, None) and "history" in found.why


def test_without_a_store_nobody_enforces_and_one_that_fails_is_said(tmp_path: Path) -> None:
    assert not acts(STAFF, open_fakes(), NOW).is_kept
    (tmp_path / ENFORCEMENT.file).write_bytes(b"this is no database " * 100)
    settings = Settings(enforcement=EnforcementSettings(directory=tmp_path))
    for viewer, told in ((STAFF, True), (ALICE, False)):
        found = acts(viewer, replace(open_fakes(), settings=settings), NOW)
        assert found.source is not None and bool(found.source.error) is told


def test_a_verdict_stands_where_the_enforcer_left_it(tmp_path: Path) -> None:
    store, plain = in_folder(tmp_path), open_fakes(measured=idle_everywhere())
    one = verdict(STAFF, plain, "7")
    low = next(each for each in one.verdicts if each.rule == "idle")
    assert (low.status, low.steps_taken) == ("low", 0)
    at = one.time
    taken = (at - 20 * MINUTE,)
    episode = Episode(attempt_of(one.job), "idle", 1, at - 20 * MINUTE, at, at, low_seconds=5400.0, taken=taken)
    with store.connection() as connection:
        keep_episodes(connection, one.job.cluster, [episode])
        settings = Settings(enforcement=EnforcementSettings(directory=tmp_path))
        form = rule_of("idle", settings.policy.rules["idle"]).form
        keep_acting_since(connection, one.job.cluster, {"idle": form}, at - timedelta(days=30))
    placed = verdict(STAFF, replace(plain, settings=settings), "7")
    found = next(each for each in placed.verdicts if each.rule == "idle")
    assert (found.steps_taken, found.next_action) == (1, StepAction.WARN)
    assert found.next_at == taken[0] + 30 * MINUTE
