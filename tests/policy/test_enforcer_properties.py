"""The real enforcer in random worlds of faults and sudden ends: what was done is never more, and never less, than what
may be done.

`ENFORCER_EXAMPLES=1000 pytest tests/policy/test_enforcer_properties.py` looks longer than the whole check does.
"""

from __future__ import annotations

import os
import random
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from policy.decide import ActKey
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_AUDIT, AFTER_CANCEL, AFTER_COMMIT, BEFORE_AUDIT
from policy.store.audit import Outcome, audit_rows, open_rows, untold_cancellations
from settings import StepAction
from tests.policy.enforcer_world import World
from tests.policy.random_lives import (
    BY_NAME,
    HOURS,
    JOBS,
    MINUTES,
    T0,
    Life,
    check_data,
    life_at,
    marks,
    worlds,
)

EXAMPLES = int(os.environ.get("ENFORCER_EXAMPLES", "27"))
assert EXAMPLES * 2 * JOBS * HOURS >= 10_000, "job-hours"
USERS = 5
PLACES = (BEFORE_AUDIT, AFTER_AUDIT, AFTER_ACCEPT, AFTER_CANCEL, AFTER_COMMIT)
MAIL = ("mail server", "mail", "mail lost", "mail answer")
FAILING = (*MAIL, "cancel", "cancel lost", "cancel answer", "look", "comment", "odd job")
KILLS = st.tuples(st.sampled_from(PLACES), st.integers(1, 3))

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # it would take hours
troubles = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "failing": st.dictionaries(st.sampled_from(FAILING), st.sampled_from([0.1, 0.5]), max_size=4),
        "kills": st.dictionaries(st.integers(0, 48), KILLS, max_size=16),
        "stopped": st.lists(st.tuples(st.integers(0, MINUTES), st.integers(1, 400)), max_size=1),
        "no_slurm": st.lists(st.tuples(st.integers(0, MINUTES), st.integers(1, 200)), max_size=2),
    }
)


def play(lives: list[Life], given_world: dict, trouble: dict, stop_file: Path) -> tuple[World, np.ndarray]:
    """All passes of a day. Also gives the minutes in which acting was stopped."""
    world = World(list(lives), chance=random.Random(trouble["seed"]), failing=trouble["failing"], stop_file=stop_file)
    stopped, no_slurm = marks(trouble["stopped"]), marks(trouble["no_slurm"])
    no_timer, no_metrics = marks(given_world["no_timer"]), marks(given_world["no_metrics"])
    for number, minute in enumerate(range(0, MINUTES, given_world["every"])):
        if no_timer[minute]:
            continue
        world.minute, world.no_metrics, world.no_slurm = minute, bool(no_metrics[minute]), bool(no_slurm[minute])
        world.skew = sum(by for begin, by in given_world["jumps"] if begin <= minute < begin + 60)
        stop_file.touch() if stopped[minute] else stop_file.unlink(missing_ok=True)
        world.kill = trouble["kills"].get(number)
        if world.no_slurm:
            continue
        world.one_pass()
    stop_file.unlink(missing_ok=True)
    return world, stopped


def told(world: World) -> dict[ActKey, list[int]]:
    """Warnings and words about an end, by act: the minutes at which the user got to see them. Mailboxes do not show a
    second mail with the same Message-ID."""
    found: dict[ActKey, list[int]] = {}
    first = {mail.reference: mail for mail in reversed(world.mails)}
    for mail in first.values():
        for key in mail.acts:
            found.setdefault(key, []).append(mail.minute)
    return found


def is_split(world: World, key: ActKey) -> bool:
    """Whether a mail with this act was sent again without it: then the act's own mail must have another Message-ID."""
    names = {mail.reference for mail in world.mails if key in mail.acts}
    return any(key not in mail.acts for mail in world.mails if mail.reference in names)


def check(lives: list[Life], given_world: dict, world: World, stopped: np.ndarray) -> None:
    no_metrics, jumps = marks(given_world["no_metrics"]), given_world["jumps"]
    rows = audit_rows(world.store, "demo", T0 - timedelta(days=1))
    acts = {row.act.key: row.act for row in rows}
    mails = told(world)
    ended = {end.act: end.minute for end in world.ends}
    assert len(world.ends) == len({end.act[0] for end in world.ends}), "a job was cancelled twice"
    for key, minutes in mails.items():
        assert key in acts, "a mail without a row in the audit"
        assert len(minutes) == 1 or is_split(world, key), "a mail twice under different Message-IDs"
        doubts = [row for row in rows if row.act.key == key and row.outcome is not Outcome.WITHHELD]
        if acts[key].action is StepAction.WARN:
            assert len(minutes) <= len([row for row in doubts if row.outcome is not Outcome.REFUSED]), (
                "more mails than acts"
            )
            assert sum(row.outcome is Outcome.DONE for row in doubts) <= 1, "a step was taken twice"
    warned = {key: at for key, at in mails.items() if acts[key].action is StepAction.WARN}
    for key, minute in [*((key, min(at)) for key, at in warned.items()), *ended.items()]:
        act, rule = acts[key], BY_NAME[key[1]]
        life = next(life for life in lives if life.job.job_id == act.job.job_id)
        assert not stopped[minute], "acted while the kill switch was there"
        check_data(life, act, minute, no_metrics, jumps)
        for step in range(1, act.step):
            before = warned.get((*key[:3], step))
            assert before is not None, "a step was skipped"
            if step == act.step - 1:
                waited = (minute - min(before)) * 60
                assert waited >= rule.steps[act.step - 1].notice_seconds, "less than its notice"
    for end in world.ends:
        assert end.wanted == str(end.act[0][1]), "the wrong job"


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None, phases=NO_SHRINKING)
@given(worlds, worlds, troubles)
def test_no_act_is_ever_wrong_whatever_fails_and_wherever_it_ends(
    given_world: dict, other: dict, trouble: dict
) -> None:
    lives = [life_at(number, one, USERS) for number, one in enumerate([*given_world["jobs"], *other["jobs"]])]
    with tempfile.TemporaryDirectory() as folder:
        world, stopped = play(lives, given_world, trouble, Path(folder) / "stop")
        check(lives, given_world, world, stopped)
        settle_down(world)


def settle_down(world: World) -> None:
    """With everything answering again, nothing stays open, and everybody who lost a job was told."""
    world.failing, world.kill, world.no_slurm, world.no_metrics, world.skew = {}, None, False, False, 0
    last = world.minute
    for minute in range(last, last + 3):
        world.minute = min(minute, MINUTES - 1)
        report = world.one_pass()
        assert report is not None and not [one for one in report.faults if "down" not in one]
    with world.store.connection() as connection:
        still = open_rows(connection, "demo")
        assert [row for row in still if row.act.key[0] in world.states] == [], "an end that is not known"
        assert untold_cancellations(connection, "demo", T0) == ()
    mails = told(world)
    assert {end.act for end in world.ends} <= set(mails), "nobody was told of a cancellation"


def test_an_idle_world_without_faults_is_warned_twice_cancelled_and_told(tmp_path: Path) -> None:
    """So that the properties above are not those of an enforcer that does nothing."""
    quiet = {"busy": [], "missing": [], "stuck": [], "pause": None, "requeue": None, "level": 0.0}
    given_world = {"no_timer": [], "no_metrics": [], "jumps": [], "every": 5}
    trouble = {"seed": 0, "failing": {}, "kills": {}, "stopped": [], "no_slurm": []}
    lives = [life_at(number, quiet) for number in range(5)]
    world, stopped = play(lives, given_world, trouble, tmp_path / "stop")
    check(lives, given_world, world, stopped)
    assert [(end.minute, end.act[0][1]) for end in world.ends] == [(100, number) for number in range(100, 105)]
    assert sorted({mail.minute for mail in world.mails}) == [45, 80, 100]
    assert len(world.mails) == 15
