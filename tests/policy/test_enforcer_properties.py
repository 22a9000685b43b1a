"""The real enforcer in random worlds of faults and sudden ends: what was done is never more, and never less, than what
may be done. Each world is made of its number: a day of 24 jobs of 6 users, and everything that can go wrong.

`ENFORCER_WORLDS=1000 pytest tests/policy/test_enforcer_properties.py` looks longer than the whole check does.
"""

from __future__ import annotations

import os
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from policy.decide import ActKey
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_AUDIT, AFTER_CANCEL, AFTER_COMMIT, BEFORE_AUDIT
from policy.store.audit import Outcome, audit_rows, open_rows, untold_cancellations
from settings import StepAction
from tests.policy.enforcer_world import World
from tests.policy.random_lives import BY_NAME, HOURS, MINUTES, T0, Life, check_data, life_at, marks

WORLDS = int(os.environ.get("ENFORCER_WORLDS", "18"))
JOBS, USERS = 24, 6
assert WORLDS * JOBS * HOURS >= 10_000, "job-hours"
PLACES = (BEFORE_AUDIT, AFTER_AUDIT, AFTER_ACCEPT, AFTER_CANCEL, AFTER_COMMIT)
MAIL = ("mail server", "mail", "mail lost", "mail answer")
FAILING = (*MAIL, "cancel", "cancel lost", "cancel answer", "look", "last look", "comment", "odd job")


def spans(chance: random.Random, most: int, longest: int) -> list[tuple[int, int]]:
    return [(chance.randrange(MINUTES), chance.randint(1, longest)) for _ in range(chance.randint(0, most))]


def random_job(chance: random.Random) -> dict[str, Any]:
    return {
        "busy": spans(chance, 3, 200),
        "missing": spans(chance, 2, 100),
        "stuck": spans(chance, 1, 300),
        "pause": chance.choice([None, None, (chance.randint(60, MINUTES), chance.randint(1, 120))]),
        "requeue": chance.choice([None, None, chance.randint(60, MINUTES)]),
        "level": chance.choice([0.0, 0.0, 0.0, 0.03, 0.2]),
    }


def random_world(chance: random.Random) -> dict[str, Any]:
    """What goes wrong: faults with their probabilities, and at which pass the enforcer is killed where."""
    jumps = [(chance.randrange(MINUTES), chance.choice([-180, -20, 20, 180]))]
    kills = {chance.randrange(96): (chance.choice(PLACES), chance.randint(1, 3)) for _ in range(chance.randint(0, 24))}
    return {
        "every": chance.choice([15, 30, 30, 45, 60]),
        "no_timer": spans(chance, 2, 200),
        "no_metrics": spans(chance, 2, 100),
        "no_slurm": spans(chance, 2, 100),
        "stopped": spans(chance, 1, 200),
        "jumps": jumps if chance.random() < 0.3 else [],
        "kills": kills,
        "failing": {what: chance.choice([0.1, 0.3]) for what in FAILING if chance.random() < 0.4},
    }


def play(lives: list[Life], given_world: dict[str, Any], chance: random.Random, stop_file: Path) -> World:
    """All passes of a day."""
    world = World(list(lives), chance=chance, failing=given_world["failing"], stop_file=stop_file)
    stopped, no_slurm = marks(given_world["stopped"]), marks(given_world["no_slurm"])
    no_timer, no_metrics = marks(given_world["no_timer"]), marks(given_world["no_metrics"])
    for number, minute in enumerate(range(0, MINUTES, given_world["every"])):
        if no_timer[minute]:
            continue
        world.minute, world.no_metrics, world.no_slurm = minute, bool(no_metrics[minute]), bool(no_slurm[minute])
        world.skew = sum(by for begin, by in given_world["jumps"] if begin <= minute < begin + 60)
        stop_file.touch() if stopped[minute] else stop_file.unlink(missing_ok=True)
        world.kill = given_world["kills"].get(number)
        if world.no_slurm:
            continue
        world.one_pass()
    stop_file.unlink(missing_ok=True)
    return world


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
    """Whether a mail with this act was tried again without it: then the act's next mail must have another
    Message-ID, for nobody knows which of the two came."""
    names = {mail.reference for mail in world.tried if key in mail.acts}
    return any(key not in mail.acts for mail in world.tried if mail.reference in names)


def check(lives: list[Life], given_world: dict[str, Any], world: World) -> None:
    no_metrics, stopped, jumps = marks(given_world["no_metrics"]), marks(given_world["stopped"]), given_world["jumps"]
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


@pytest.mark.parametrize("number", range(WORLDS))
def test_no_act_is_ever_wrong_whatever_fails_and_wherever_it_ends(number: int, tmp_path: Path) -> None:
    chance = random.Random(number)
    lives = [life_at(job, random_job(chance), USERS) for job in range(JOBS)]
    given_world = random_world(chance)
    world = play(lives, given_world, chance, tmp_path / "stop")
    check(lives, given_world, world)
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
    done = [row.act.key for row in audit_rows(world.store, "demo", T0 - timedelta(days=1)) if row.is_cancelled]
    assert sorted(map(repr, done)) == sorted(repr(end.act) for end in world.ends), "the audit says what was not so"


def test_an_idle_world_without_faults_is_warned_twice_cancelled_and_told(tmp_path: Path) -> None:
    """So that the properties above are not those of an enforcer that does nothing."""
    quiet = {"busy": [], "missing": [], "stuck": [], "pause": None, "requeue": None, "level": 0.0}
    nothing = {"no_timer": [], "no_metrics": [], "no_slurm": [], "stopped": [], "jumps": [], "kills": {}, "failing": {}}
    lives = [life_at(number, quiet) for number in range(5)]
    world = play(lives, {**nothing, "every": 5}, random.Random(0), tmp_path / "stop")
    check(lives, nothing, world)
    assert [(end.minute, end.act[0][1]) for end in world.ends] == [(100, number) for number in range(100, 105)]
    assert sorted({mail.minute for mail in world.mails}) == [45, 80, 100]
    assert len(world.mails) == 15
