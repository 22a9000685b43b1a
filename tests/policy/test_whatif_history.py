"""What if, over a small history: numbers that can be added up by hand, and who may ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data.errors import BadRequest
from data.model import Role, Viewer
from policy.submission import Excess
from policy.whatif.model import Amount, WhatIf
from policy.whatif.variants import Changes
from policy.whatif_queries import Simulation, WhatIfAsk, simulate
from settings import PolicySettings, SubmissionSettings
from tests.queries.history.attempts import Attempt, at, sources_of, write

STAFF = Viewer("root", Role.STAFF)
HOUR, DAY = 3600.0, 86400.0
IDLE = PolicySettings(exempt_users=["vip"])


def ran(job_id: int, steps: Iterable[int], gpus: int | None = 1, **fields: Any) -> Attempt:
    """A batch job with a profile of 300 s steps and a limit of 24 h."""
    found = tuple(steps)
    more = {"is_batch": True, "gpus_measured": gpus, "gpu_weight": gpus, "time_limit_seconds": DAY}
    given = {**more, **fields.pop("more", {})}
    return Attempt(job_id, 0, len(found) / 12, gpus=gpus, steps=found, more=given, **fields)


def asked(folder: Path, attempts: Iterable[Attempt], wanted: WhatIfAsk | None = None, **settings: Any) -> Simulation:
    sources = sources_of(write(folder, attempts), **{"policy": IDLE, **settings})
    return simulate(STAFF, sources, wanted or WhatIfAsk(at(0), at(240), ("idle",)))


def only(found: Simulation) -> WhatIf:
    assert len(found.rules) == 1
    return found.rules[0]


def test_what_would_have_been_warned_cancelled_and_saved_adds_up(tmp_path: Path) -> None:
    found = only(
        asked(
            tmp_path,
            [
                ran(1, [0] * 36, user="ann"),
                ran(2, [0] * 24 + [80] * 12, gpus=4, user="bob"),
                ran(3, [0] * 12 + [90] * 24, user="bob"),
                ran(4, [90] * 36, user="carl"),
                ran(5, [0] * 36, user="vip"),
                ran(6, [0] * 36, user="ann", more={"time_limit_seconds": None}),
            ],
        )
    )
    assert (found.all_jobs, found.about) == (Amount(6, 4, 27.0), Amount(6, 4, 27.0))
    assert (found.exempt, found.judged) == (Amount(1, 1, 3.0), Amount(5, 3, 24.0))
    outcome = found.outcome
    assert outcome.warned == Amount(4, 2, 21.0)
    assert outcome.warnings == 2 + 2 + 1 + 2
    assert outcome.cancelled == Amount(3, 2, 18.0)
    assert outcome.false_alarms == Amount(1, 1, 12.0)
    assert outcome.saved_gpu_hours == pytest.approx(1 * (12 - 1.5) + 4 * (12 - 1.5))
    assert outcome.saved_unknown == 1
    assert outcome.held_gpu_hours == pytest.approx(1.5 + 4 * 1.5 + 1.5)
    assert outcome.used_gpu_hours == pytest.approx(4 * 1.0 * 0.8)
    assert [(hit.user, hit.warned, hit.cancelled, hit.false_alarms) for hit in found.users_hit] == [
        ("bob", 2, 1, 1),
        ("ann", 2, 2, 0),
    ]
    alarm = found.false_alarms[0]
    assert (alarm.job, alarm.user, alarm.after_seconds, alarm.gpus) == ("2", "bob", 1.5 * HOUR, 4)
    assert alarm.used_gpu_hours == pytest.approx(3.2)


def test_what_cannot_be_replayed_is_counted_apart_with_its_reason(tmp_path: Path) -> None:
    idle = [0] * 36
    found = only(
        asked(
            tmp_path,
            [
                ran(1, idle),
                replace(ran(2, idle), steps=None),
                ran(3, idle, gpus=4, more={"gpus_measured": 3}),
                ran(4, idle, more={"flags": ["shared"]}),
                ran(5, idle, more={"flags": ["node estimate"]}),
                ran(6, idle, more={"suspended_seconds": 600.0}),
                ran(7, idle, more={"is_batch": None, "time_limit_seconds": 4 * HOUR}),
                ran(8, idle, more={"gpu_count": None}),
                ran(9, idle, gpus=0),
            ],
        )
    )
    assert {one.reason: one.amount.jobs for one in found.apart} == {
        "no_profile": 1,
        "devices_differ": 1,
        "shared": 1,
        "node_estimate": 1,
        "suspended": 1,
        "interactive_unknown": 1,
        "gpu_count_unknown": 1,
    }
    assert (found.about.jobs, found.judged.jobs, found.outcome.cancelled.jobs) == (8, 1, 1)


def test_matches_and_exemptions_of_the_rule_hold(tmp_path: Path) -> None:
    rule = {"partitions": ["gpu"], "exempt_accounts": ["bio"], "gpu_models": ["H100"], "min_gpus": 1, "max_gpus": 2}
    attempts = [
        ran(1, [0] * 36, more={"devices": [{"model": "NVIDIA H100 80GB HBM3"}]}),
        ran(2, [0] * 36, partition="long", more={"devices": [{"model": "NVIDIA H100 80GB HBM3"}]}),
        ran(3, [0] * 36, account="bio", more={"devices": [{"model": "NVIDIA H100 80GB HBM3"}]}),
        ran(4, [0] * 36, more={"devices": [{"model": "NVIDIA A100-SXM4-40GB"}]}),
        ran(5, [0] * 36, gpus=4, more={"devices": [{"model": "NVIDIA H100 80GB HBM3"}] * 4}),
        ran(6, [0] * 36, more={"devices": [{"model": "H100"}], "is_batch": False, "time_limit_seconds": 2 * HOUR}),
    ]
    found = only(asked(tmp_path, attempts, policy=PolicySettings(rules={"idle": rule})))
    assert (found.about.jobs, found.exempt.jobs, found.judged.jobs) == (3, 2, 1)
    assert found.outcome.cancelled.jobs == 1


def test_high_gpu_memory_exempts_and_unmeasured_memory_is_said(tmp_path: Path) -> None:
    policy = PolicySettings(rules={"idle": {"exempt_memory_share": 0.5}})
    attempts = [
        ran(1, [0] * 36, memory_gib=70.0, more={"gpu_memory_total_bytes": 80.0 * (1 << 30)}),
        ran(2, [0] * 36, memory_gib=8.0, more={"gpu_memory_total_bytes": 80.0 * (1 << 30)}),
        ran(3, [0] * 36),
    ]
    found = only(asked(tmp_path, attempts, policy=policy))
    assert found.outcome.cancelled.jobs == 1
    assert [(one.reason, one.amount.jobs) for one in found.apart] == [("memory_not_measured", 1)]
    assert found.judged.jobs == 2


def test_no_step_in_quiet_hours_nor_shortly_before_the_limit(tmp_path: Path) -> None:
    quiet = PolicySettings(quiet_from="00:30", quiet_until="02:00")
    later = only(asked(tmp_path, [ran(1, [0] * 60)], policy=quiet))
    assert later.outcome.held_gpu_hours == pytest.approx(5 - 2.75)  # warned at 2:00 and 2:30, cancelled at 2:45
    ends = PolicySettings(rules={"idle": {"no_action_before_limit_minutes": 60}})
    short = only(asked(tmp_path / "short", [ran(1, [0] * 30, more={"time_limit_seconds": 2.4 * HOUR})], policy=ends))
    assert (short.outcome.warnings, short.outcome.cancelled.jobs) == (2, 0)


def test_the_curve_shows_where_complaints_begin(tmp_path: Path) -> None:
    """Jobs at 7 % are nobody's trouble at a threshold of 5 %, and all of them are at 9 %."""
    attempts = [ran(number, [7] * 96, user=f"user{number}") for number in range(1, 6)] + [ran(9, [0] * 96)]
    found = only(asked(tmp_path, attempts, WhatIfAsk(at(0), at(240), ("low-mean",), has_curve=True)))
    own = {one.threshold: one for one in found.curve if one.window_seconds == 4 * HOUR}
    assert [own[threshold].cancelled.users for threshold in (0.01, 0.05, 0.07, 0.09)] == [1, 1, 1, 6]
    assert found.outcome == own[0.05]
    changed = WhatIfAsk(at(0), at(240), ("low-mean",), Changes(0.09, 120.0))
    assert only(asked(tmp_path, attempts, changed)).outcome.cancelled.jobs == 6
    idle = only(asked(tmp_path, attempts, WhatIfAsk(at(0), at(240), ("idle",), has_curve=True)))
    assert [(one.first_step_seconds, one.cancelled.jobs) for one in idle.curve][:2] == [(900.0, 1), (1800.0, 1)]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (WhatIfAsk(at(0), at(24), ("nothing",)), "no rule nothing"),
        (WhatIfAsk(at(24), at(0)), "since must be before until"),
        (WhatIfAsk(at(0), at(24), (), Changes(0.1)), "that of one rule"),
        (WhatIfAsk(at(0), at(24), ("idle",), Changes(0.1)), "of kind idle"),
        (WhatIfAsk(at(0), at(24), ("low-mean",), Changes(first_step_minutes=5)), "of kind mean"),
        (WhatIfAsk(at(0), at(24), ("low-mean",), Changes(1.5)), "threshold"),
        (WhatIfAsk(at(0), at(24), ("idle",), Changes(first_step_minutes=0.0)), "above 0"),
    ],
)
def test_a_wrong_question_is_refused_with_what_is_wrong(tmp_path: Path, wanted: WhatIfAsk, says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        asked(tmp_path, [ran(1, [0] * 4)], wanted)


def test_a_rule_that_profiles_do_not_tell_of_is_said_and_not_counted(tmp_path: Path) -> None:
    policy = PolicySettings(
        rules={"sm": {"kind": "mean", "metric": "sm_activity", "window_minutes": 60, "threshold": 0.1}}
    )
    found = only(asked(tmp_path, [ran(1, [0] * 36)], WhatIfAsk(at(0), at(240), ("sm",)), policy=policy))
    assert "sm_activity" in found.cannot
    assert (found.judged.jobs, found.outcome.warned.jobs, found.notes) == (0, 0, ())


@pytest.mark.parametrize("viewer", [Viewer("alice", Role.USER), Viewer("alice", Role.USER, frozenset({"physics"}))])
def test_only_staff_may_ask(tmp_path: Path, viewer: Viewer) -> None:
    with pytest.raises(BadRequest, match="only staff"):
        simulate(viewer, sources_of(write(tmp_path, [ran(1, [0] * 36)])), WhatIfAsk(at(0), at(240)))


def test_an_empty_history_is_an_answer_and_says_so(tmp_path: Path) -> None:
    found = simulate(STAFF, sources_of(tmp_path), WhatIfAsk(at(0), at(240)))
    assert found.state.is_empty
    assert all(rule.outcome.warned == Amount() for rule in found.rules)


def test_past_jobs_that_the_limits_at_submission_would_have_refused(tmp_path: Path) -> None:
    limits = SubmissionSettings(
        limits={
            "gpu": {"max_cores_per_gpu": 8, "max_memory_gib_per_gpu": 64, "min_gpus_per_node": 4},
            "*": {"max_cores_per_gpu": 16},
        },
        exempt_users=["vip"],
    )
    gib = 1 << 30
    found = asked(
        tmp_path,
        [
            ran(1, [9] * 12, more={"cores": 9, "memory_allocated_bytes": 65.0 * gib}),
            ran(2, [9] * 12, gpus=4, nodes=("a", "b"), more={"cores": 32}),
            ran(3, [9] * 12, gpus=4, more={"cores": 32, "memory_allocated_bytes": 256.0 * gib}),
            ran(4, [9] * 12, partition="long", more={"cores": 16}),
            ran(5, [9] * 12, more={"cores": 99}, user="vip"),
            ran(6, [9] * 12, gpus=0, more={"cores": 99}),
        ],
        submission=limits,
    ).submission
    assert found is not None
    assert found.looked_at.jobs == 5
    assert found.refused == Amount(2, 1, 5.0)
    assert {limit: one.jobs for limit, one in found.by_limit.items()} == {
        Excess.CORES: 1,
        Excess.MEMORY: 1,
        Excess.SPREAD: 1,
    }
    assert asked(tmp_path, []).submission is None
