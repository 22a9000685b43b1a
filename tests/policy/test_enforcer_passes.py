"""Passes of the real enforcer, one trouble at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from data.enforcement.tables import METADATA
from data.errors import SourceUnreachable
from data.history.lease import HeldByAnother
from data.state.store import StateStore
from policy.decide import Act
from policy.enforcer.enforce import ALARM_AGAIN
from policy.enforcer.last_pass import last_pass
from policy.enforcer.lock import enforcing
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_CANCEL
from policy.enforcer.report import Fate
from policy.enforcer.stop import why_stopped
from policy.recheck import Checked
from policy.store.audit import Outcome, audit_rows
from policy.store.ladders import read_ladders
from settings import EnforcementSettings, PolicySettings, StepAction
from tests.policy.enforcement_store import opened
from tests.policy.enforcer_world import Killed, World
from tests.policy.random_lives import POLICY, T0, life_at

IDLE = {"busy": [], "missing": [], "stuck": [], "pause": None, "requeue": None, "level": 0.0}
EVERY = 5


def world_of(count: int = 1, users: int = 1, **fields: object) -> World:
    lives = [life_at(number, {**IDLE, **fields}, users) for number in range(count)]
    return World(lives)


def until(world: World, last: int, first: int = 0, does: Callable[[int], None] = lambda minute: None) -> None:
    """Passes every five minutes up to `last`."""
    for minute in range(first, last + 1, EVERY):
        world.minute = minute
        does(minute)
        world.one_pass()


def sent(world: World) -> list[tuple[int, int]]:
    """Minute and step of each mail."""
    return [(mail.minute, mail.acts[0][3]) for mail in world.mails]


def test_a_clock_that_jumps_ahead_takes_no_step() -> None:
    world = world_of()
    until(world, 60)
    world.skew = 300
    until(world, 90, 65)
    assert sent(world) == [(45, 1)], "the samples are not of now"
    world.skew = 0
    until(world, 150, 95)
    assert [step for _, step in sent(world)] == [1, 2, 3] and sent(world)[1][0] >= 95 + 15


def test_a_clock_that_jumps_back_gives_more_notice_not_less() -> None:
    world = world_of()
    until(world, 60)
    world.skew = -30
    until(world, 80, 65)
    world.skew = 0
    until(world, 200, 85)
    minutes = [minute for minute, _ in sent(world)]
    assert len(minutes) == 3 and minutes[1] - minutes[0] >= 30 and minutes[2] - minutes[1] >= 15


def test_the_first_days_of_warnings_alone_do_not_begin_by_a_wrong_clock() -> None:
    world = world_of()
    world.policy = POLICY.model_copy(update={"warn_only_days": 0.1})
    world.skew = -100_000
    until(world, 5)
    world.skew = 0
    until(world, 165, 10)
    assert [step for _, step in sent(world)] == [1, 2] and world.ends == []
    until(world, 175, 170)
    assert len(world.ends) == 1


def test_a_timer_that_was_off_skips_no_step_and_takes_no_two() -> None:
    world = world_of()
    until(world, 45)
    until(world, 200, 120)
    assert sent(world) == [(45, 1), (120, 2), (140, 3)]
    away = world_of()
    until(away, 45)
    until(away, 240, 150)
    steps = [(45, 1), (150, 1), (185, 2), (205, 3)]
    assert sent(away) == steps, "nobody looked for longer than the windows reach back: a new episode"


def test_a_requeued_job_begins_at_the_first_step() -> None:
    world = world_of(requeue=85)
    until(world, 240)
    attempts = [(mail.acts[0][0][4], mail.acts[0][3]) for mail in world.mails]
    assert attempts == [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)]


def test_a_job_that_is_requeued_between_look_and_act_is_left_alone() -> None:
    world = world_of()
    until(world, 95)
    world.minute = 100

    def requeue() -> None:
        world.lives[0].given["requeue"] = 99

    world.lives[0].given = dict(world.lives[0].given)
    world.before_look = requeue
    report = world.one_pass()
    assert report is not None and [line.fate for line in report.lines] == [Fate.WITHHELD]
    assert "started anew" in report.lines[0].why and world.ends == []


@pytest.mark.parametrize("no_accounting", [False, True])
def test_a_cancel_of_which_nobody_heard_and_a_job_that_was_started_anew(no_accounting: bool) -> None:
    """What slurmdbd has of the earlier attempt counts; without it, nobody claims to know how that ended."""
    world = world_of(requeue=104)
    until(world, 95)
    world.failing = {"cancel answer": 1.0}
    until(world, 100, 100)
    world.failing, world.no_accounting = {}, no_accounting
    life = world.lives[0]
    life.job = replace(life.job, submit_time=T0 + timedelta(minutes=104))
    until(world, 105, 105)
    (row,) = [row for row in audit_rows(world.store, "demo", T0) if row.act.action is StepAction.CANCEL]
    assert row.outcome is (Outcome.UNKNOWN if no_accounting else Outcome.DONE)
    assert (sent(world)[-1] == (105, 3)) == (not no_accounting), "who lost a job is told"


WARNINGS = [("warn", 45), ("warn", 75)]


def with_idle(steps: Sequence[tuple[str, float]], days: float = 0, **changes: object) -> PolicySettings:
    """The policy with another ladder, or other fields, of the idle rule; it only warns in its first days."""
    ladder = [{"action": action, "at_minutes": at} for action, at in steps]
    idle = {"steps": ladder, **changes}
    return PolicySettings.model_validate({"rules": {"idle": idle}, "stop_share": 1.0, "warn_only_days": days})


def test_a_cancel_that_was_added_to_a_rule_comes_after_notices_that_name_it() -> None:
    """The users were warned, and told that nothing follows: those warnings do not count for a ladder with a cancel."""
    world = world_of()
    world.policy = with_idle(WARNINGS)
    until(world, 110)
    assert sent(world) == [(45, 1), (80, 2)]
    world.policy = with_idle([*WARNINGS, ("cancel", 90)])
    until(world, 170, 115)
    assert sent(world)[2:] == [(115, 1), (150, 2), (170, 3)] and [end.minute for end in world.ends] == [170]


@pytest.mark.parametrize(("change", "ended"), [({"exempt_users": ["u9"]}, 2), ({"close_minutes": 20}, 0)])
def test_a_changed_rule_only_warns_in_its_first_days_again_but_not_for_a_name_that_is_spared(
    change: dict[str, object], ended: int
) -> None:
    world = world_of(2, users=2)
    world.policy = with_idle([*WARNINGS, ("cancel", 90)], days=0.05)
    until(world, 80)
    world.policy = with_idle([*WARNINGS, ("cancel", 90)], days=0.05, **change)
    until(world, 110, 85)
    assert len(world.ends) == ended, "72 minutes and a notice after the rule began"


def test_an_enforcer_killed_after_it_saw_the_change_does_not_count_the_old_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_of()
    world.policy = with_idle(WARNINGS)
    until(world, 100)
    world.policy, world.minute = with_idle([*WARNINGS, ("cancel", 90)]), 105

    def end(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("policy.enforcer.enforce._decide", end)
        assert world.one_pass() is None
    until(world, 110, 110)
    assert world.ends == [] and sent(world)[2:] == [(110, 1)]


def test_an_id_that_is_used_again_is_another_job() -> None:
    world = world_of()
    until(world, 80)
    life = world.lives[0]
    later = T0 + timedelta(minutes=81)
    life.job = type(life.job)(
        **{**{name: getattr(life.job, name) for name in life.job.__slots__}, "submit_time": later}
    )
    until(world, 100, 85)
    assert world.ends == [] and sent(world)[-1][1] == 1


def test_slurm_refuses_one_and_the_others_go_on_and_staff_are_told_once() -> None:
    world = world_of(3, users=3)
    refuse = world.cancel

    def cancel(job: object, cancel_id: str) -> None:
        world.failing = {"cancel": 1.0 if cancel_id == "101" else 0.0}
        refuse(job, cancel_id)  # type: ignore[arg-type]

    world.cancel = cancel  # type: ignore[method-assign]
    until(world, 130)
    assert sorted(end.wanted for end in world.ends) == ["100", "102"]
    rows = [row for row in audit_rows(world.store, "demo", T0) if row.act.action is StepAction.CANCEL]
    refused = [row for row in rows if row.outcome is Outcome.REFUSED]
    assert {row.act.job.job_id for row in refused} == {101} and len(refused) > 1
    assert [line for line in world.staff if "101" in line] == [
        "101 of u1 could not be cancelled: Invalid job id specified"
    ]


def test_a_job_that_breaks_the_mail_does_not_spare_the_others() -> None:
    world = world_of(3, users=3)
    make = world.notice

    def notice(acts: Sequence[Act], *more: Any) -> EmailMessage:
        if acts[0].job.user == "u0":
            raise ValueError("a name that no header takes")
        return make(acts, *more)

    world.notice = notice  # type: ignore[method-assign]
    until(world, 40)
    world.minute = 45
    report = world.one_pass()
    assert report is not None and [line.fate for line in report.lines] == [Fate.UNKNOWN, Fate.DONE, Fate.DONE]
    assert "a name that no header takes" in report.faults[0] and len(world.mails) == 2
    until(world, 130, 50)
    assert sorted(end.wanted for end in world.ends) == ["101", "102"]
    assert len([line for line in world.staff if "broke" in line]) == 1


def test_a_mail_server_that_is_down_takes_no_step_and_the_next_pass_tries_again() -> None:
    world = world_of(2)
    until(world, 40)
    world.no_mail, world.minute = True, 45
    report = world.one_pass()
    assert report is not None and {line.fate for line in report.lines} == {Fate.WITHHELD}
    assert "no step is taken while no mail can be sent" in report.faults[0]
    assert audit_rows(world.store, "demo", T0) == ()
    world.no_mail = False
    until(world, 50, 50)
    assert sent(world) == [(50, 1)]


@pytest.mark.parametrize("fault", ["mail lost", "mail answer"])
def test_a_mail_of_which_nobody_knows_is_no_step_and_is_sent_again_as_it_was(fault: str) -> None:
    world = world_of(2)
    until(world, 40)
    world.minute, world.failing = 45, {fault: 1.0}
    report = world.one_pass()
    assert report is not None and {line.fate for line in report.lines} == {Fate.UNKNOWN}
    assert {len(one.taken) for one in read_ladders(world.store, "demo").episodes.values()} == {0}
    world.failing = {}
    until(world, 50, 50)
    assert {len(one.taken) for one in read_ladders(world.store, "demo").episodes.values()} == {1}
    assert (
        len(world.mails) == {"mail lost": 1, "mail answer": 2}[fault]
        and len({mail.reference for mail in world.mails}) == 1
    )


def test_a_job_that_was_left_out_of_a_mail_never_goes_under_its_message_id() -> None:
    """The first mail of both jobs is lost, the second is of one of them and comes: whoever had that one would not be
    shown a third under the same name, and so the other job's owner never warned of it."""
    world = world_of(2)
    until(world, 40)
    world.minute, world.failing = 45, {"mail lost": 1.0}
    world.one_pass()
    look = world.again
    world.again = lambda acts: [  # type: ignore[method-assign]
        replace(one, why="it was busy meanwhile") if act.job.job_id == 100 else one
        for act, one in zip(acts, look(acts), strict=True)
    ]
    world.minute, world.failing = 50, {"mail answer": 1.0}
    world.one_pass()
    world.again, world.failing = look, {}  # type: ignore[method-assign]
    until(world, 55, 55)
    by_jobs = [(mail.reference, [act[0][1] for act in mail.acts]) for mail in world.mails]
    (alone, first), (again, second), (other, third) = sorted(by_jobs, key=lambda mail: mail[1], reverse=True)
    assert (first, second, third) == ([101], [101], [100]) and alone == again != other


def test_nobody_is_cancelled_who_could_not_be_warned_or_told() -> None:
    world = world_of(2, users=2)
    world.unknown_users = {"u1"}
    until(world, 130)
    assert [end.wanted for end in world.ends] == ["100"]
    assert [line for line in world.staff if "u1" in line] == [
        "u1 could not be warned of 1 job: no mail address is known of u1"
    ]
    late = world_of(1)
    until(late, 95)
    late.unknown_users = {"u0"}
    until(late, 110, 100)
    assert late.ends == [] and "nobody could be told" in late.staff[0]


def test_staff_hear_of_the_same_trouble_again_after_some_hours() -> None:
    world = world_of(1)
    world.unknown_users = {"u0"}
    hours = ALARM_AGAIN // timedelta(minutes=1)
    until(world, 45 + hours + EVERY)
    assert len(world.staff) == 2


def test_the_kill_switch_stops_in_the_middle_of_a_pass(tmp_path: Path) -> None:
    world = world_of(3, users=3)
    world.stop_file = tmp_path / "stop"
    until(world, 95)
    world.minute = 100
    place = world.reached

    def reached(name: str) -> None:
        if name == AFTER_CANCEL and len(world.ends) == 1:
            world.stop_file.touch()  # type: ignore[union-attr]
        place(name)

    world.reached = reached  # type: ignore[method-assign]
    report = world.one_pass()
    assert report is not None and len(world.ends) == 1
    assert [line.fate for line in report.lines] == [Fate.DONE, Fate.WITHHELD, Fate.WITHHELD]
    assert len(world.mails) == 6, "the mail about the end waits, too"
    report = world.one_pass()
    assert report is not None and "kill switch" in report.alarms[0] and len(world.ends) == 1
    world.stop_file.unlink()
    world.one_pass()
    assert len(world.ends) == 3 and len(world.mails) == 9


def test_a_switch_that_cannot_be_looked_at_stops(tmp_path: Path) -> None:
    assert why_stopped(PolicySettings()) == ""
    assert why_stopped(PolicySettings(stop_file=tmp_path / "stop")) == ""
    assert "not there" in why_stopped(PolicySettings(stop_file=tmp_path / "gone" / "stop"))
    (tmp_path / "file").touch()
    assert why_stopped(PolicySettings(stop_file=tmp_path / "file" / "stop"))
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    assert "is there" in why_stopped(PolicySettings(stop_file=tmp_path / "dangling"))


def test_slurm_that_falls_silent_before_an_act_ends_the_pass_and_says_so() -> None:
    world = world_of(2, users=2)
    until(world, 40)
    world.minute, world.failing = 45, {"look": 1.0}
    report = world.one_pass()
    assert report is not None and report.faults == ("Slurm does not answer",)
    assert [line.fate for line in report.lines] == [Fate.WITHHELD] * 2 and world.mails == []
    assert {row.outcome for row in audit_rows(world.store, "demo", T0)} == {Outcome.WITHHELD}
    world.no_slurm = True
    with pytest.raises(SourceUnreachable):
        world.one_pass()


def test_metrics_that_are_down_are_a_fault_of_the_pass() -> None:
    world = world_of()
    world.no_metrics, world.minute = True, 60
    report = world.one_pass()
    assert report is not None and report.lines == () and report.faults == ("nothing is acted on: down",)


def test_the_looks_before_mails_do_not_grow_with_the_users_and_those_before_ends_stay_one_each() -> None:
    world = world_of(60, users=60)
    looked: list[int] = []
    look = world.again

    def again(acts: Sequence[Act]) -> list[Checked]:
        looked.append(len(acts))
        return look(acts)

    world.again, world.steady = again, True  # type: ignore[method-assign]
    until(world, 45)
    assert (looked, len(world.mails)) == ([50, 10], 60)
    looked.clear()
    world.minute, world.steady = 80, False
    world.one_pass()
    assert 2 < len(looked) < 20, "what was seen half a minute ago is looked at again"
    looked.clear()
    until(world, 100, 100)
    assert looked == [1] * 10


def test_two_jobs_of_a_user_have_one_mail_and_its_twin_after_a_crash_is_the_same() -> None:
    world = world_of(2)
    world.kill = (AFTER_ACCEPT, 1)
    until(world, 50)
    first, again = world.mails
    assert (first.reference, first.acts) == (again.reference, again.acts) and len(first.acts) == 2
    assert {len(one.taken) for one in read_ladders(world.store, "demo").episodes.values()} == {1}


def test_a_pass_that_came_to_its_end_says_when() -> None:
    world = world_of()
    world.kill = (AFTER_ACCEPT, 1)
    until(world, 45)
    with world.store.connection() as connection:
        at = last_pass(connection)
    assert at is not None and T0 + timedelta(minutes=40) <= at < T0 + timedelta(minutes=45)


@pytest.fixture(params=["sqlite", "postgresql"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[StateStore, StateStore]]:
    """The same store, opened by two enforcers."""
    settings = EnforcementSettings(directory=tmp_path)
    if request.param == "postgresql":
        port = request.getfixturevalue("postgres_port")
        url = SecretStr(f"postgresql+psycopg://fullwarp@127.0.0.1:{port}/fullwarp_enforced")
        settings = EnforcementSettings(url=url)
    made = opened(settings), opened(settings)
    yield made
    for store in made:
        store.close()


def test_a_ladder_goes_to_its_end_in_either_database(stores: tuple[StateStore, StateStore]) -> None:
    """Killed where it hurts; every pass is a new enforcer with the store as another left it."""
    world = world_of(2)
    for minute in range(0, 121, EVERY):
        world.minute, world.store = minute, stores[minute // EVERY % 2]
        world.kill = {45: (AFTER_ACCEPT, 1), 105: (AFTER_CANCEL, 1), 110: (AFTER_ACCEPT, 1)}.get(minute)
        world.one_pass()
    assert [mail.acts[0][3] for mail in world.mails] == [1, 1, 2, 3, 3, 3]
    assert len({mail.reference for mail in world.mails}) == 4
    assert sorted((end.minute, end.wanted) for end in world.ends) == [(105, "100"), (115, "101")]
    with stores[0].connection() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(table.delete())


def test_a_second_enforcer_waits_or_says_that_another_is_at_work(stores: tuple[StateStore, StateStore]) -> None:
    one, two = stores
    with ExitStack() as first:
        first.enter_context(enforcing(one, 0.0)).require()
        with pytest.raises(HeldByAnother, match="enforcing"), enforcing(two, 0.3):
            pytest.fail("two at once")
        threading.Timer(0.5, first.close).start()
        begun = time.monotonic()
        with enforcing(two, 10.0) as lock:
            lock.require()
        assert 0.3 < time.monotonic() - begun < 8.0


def test_an_enforcer_that_lost_its_lock_does_nothing_more(stores: tuple[StateStore, StateStore]) -> None:
    one, two = stores
    with enforcing(one, 0.0) as lock:
        if one.file is not None:
            (one.file.parent / ".writer").write_text('{"host": "elsewhere", "pid": 1, "token": "x"}')
        else:
            with two.connection() as connection:
                found = connection.execute(text("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"))
                for (pid,) in found.all():
                    connection.execute(text(f"SELECT pg_terminate_backend({pid})"))
        with pytest.raises(HeldByAnother):
            lock.require()
