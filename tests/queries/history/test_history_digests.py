"""Digests of all at once say what each would say alone; words that nothing knows are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from data.errors import BadRequest
from data.model import Role, Viewer
from data.queries.history import Group, HistoryFilter, report, user_history
from data.queries.history.digest import Digest, digests
from data.queries.history.question import Question
from tests.queries.history.attempts import Attempt, asked, sources_of, write

STAFF = Viewer("root", Role.STAFF)
HOURS = ("gpu_hours_allocated", "utilization")
ML = {"account": "ml", "path": ("science", "physics", "ml")}
ATTEMPTS = (
    *(Attempt(number, 0, 20, used=number / 10, user=f"u{number}", account="law", path=("law",)) for number in (1, 2)),
    Attempt(3, 0, 20, used=0.3, user="alice", findings=("idle", "serial"), **ML),
    Attempt(4, 0, 30, gpus=2, used=0.1, user="alice", findings=("idle",)),
    Attempt(5, 2, 4, gpus=8, used=0.0, user="alice", findings=("idle",), account="science", path=("science",)),
    Attempt(6, 2, 3, used=None, user="alice", findings=("idle", "odd_one")),
    Attempt(7, 3, 20, used=0.8, user="bob", findings=("serial",), **ML),
    Attempt(8, 20, None, until=30, used=0.9, user="dave", state="RUNNING"),
    Attempt(9, 5, 6, gpus=0, used=None, user="carol", account="law", path=("law",), state="STRANGE"),
    Attempt(10, 0, 20, used=0.7, user="erin", account="law", path=("law",)),
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return sources_of(write(tmp_path_factory.mktemp("digests"), ATTEMPTS))


def named(found: tuple[Digest, ...]) -> dict[str, Digest]:
    return {one.name: one for one in found}


def test_each_digest_says_what_the_users_own_history_says(sources):
    query = asked(0.5, 24, columns=HOURS)
    found = digests(STAFF, sources, query)
    assert [one.name for one in found][:2] == ["alice", "erin"]
    assert {one.name for one in found} == {"alice", "bob", "carol", "dave", "erin", "u1", "u2"}
    for name in ("alice", "carol"):
        mine, alone = named(found)[name], user_history(STAFF, sources, name, query)
        assert mine.total.hours == alone.total.hours and mine.total.values["jobs"] == alone.total.values["jobs"]
        assert [hours.allocated for _, hours in mine.trend.points] == pytest.approx(
            [hours.allocated for _, hours in alone.trend.points]
        )
        assert tuple(change.finding for change in mine.changes) == alone.findings[:3]
    alice = named(found)["alice"]
    assert alice.standing == user_history(STAFF, sources, "alice", query).standing and alice.standing.of == 5
    idle = alice.changes[0]
    assert (idle.finding.id, idle.finding.jobs, idle.advice is not None) == ("idle", 4, True)
    assert [row.label for row in idle.finding.examples] == ["4", "5", "3"]
    assert alice.changes[2].finding.gpu_hours_wasted is None and alice.changes[2].advice is None


def test_an_account_has_all_below_it_its_members_and_its_examples_in_order(sources):
    found = named(digests(STAFF, sources, asked(0, 24, by=Group.ACCOUNT, columns=HOURS)))
    science = found["science"]
    by_account = report(STAFF, sources, asked(0, 24, by=Group.ACCOUNT, columns=HOURS))
    assert science.total.hours == next(row.hours for row in by_account.rows if row.key == "science")
    assert [one.name for one in science.members] == ["alice", "bob", "dave"]
    assert sum(one.hours.allocated for one in science.members) == pytest.approx(science.total.hours.allocated)
    assert [row.label for row in science.changes[0].finding.examples] == ["4", "5", "3"]
    assert set(named(digests(STAFF, sources, asked(0, 24, by=Group.ACCOUNT, account_level=1)))) == {"science", "law"}


def test_a_filter_chooses_of_whom_and_a_viewer_only_has_what_they_may_see(sources):
    idle = HistoryFilter(findings=frozenset({"serial"}))
    found = named(digests(STAFF, sources, asked(0, 24, columns=HOURS, filter=idle)))
    assert set(found) == {"alice", "bob"} and found["alice"].total.values["jobs"] == 4
    assert set(named(digests(Viewer("bob", Role.USER), sources, asked(0, 24, columns=HOURS)))) == {"bob"}
    (group, *above) = digests(Viewer("bob", Role.USER), sources, asked(0, 24, by=Group.ACCOUNT, columns=HOURS))
    assert "alice" not in repr([group.members, group.changes, *above])


def test_more_people_take_no_more_questions(sources, monkeypatch):
    run, names = Question.run, []
    monkeypatch.setattr(Question, "run", lambda self, name, *more: names.append(name) or run(self, name, *more))
    query = asked(0, 24, columns=HOURS)
    assert len(digests(Viewer("bob", Role.USER), sources, query)) == 1
    of_one = list(names)
    assert len(digests(STAFF, sources, query)) == 7
    assert names[len(of_one) :] == of_one


@pytest.mark.parametrize(
    ("chosen", "word"),
    [
        ({"findings": {"idle", "bogus"}}, "finding=bogus is not known"),
        ({"states": {"BOGUS"}}, "state=BOGUS is not known"),
    ],
)
def test_a_word_that_nothing_knows_is_named(sources, chosen, word):
    wanted = HistoryFilter(**{name: frozenset(words) for name, words in chosen.items()})
    with pytest.raises(BadRequest, match=word):
        report(STAFF, sources, asked(0, 24, filter=wanted, columns=HOURS))


@pytest.mark.parametrize(
    ("chosen", "users"),
    [({"findings": {"odd_one"}}, ["alice"]), ({"states": {"STRANGE"}}, ["carol"]), ({"states": {"RECONFIG_FAIL"}}, [])],
)
def test_a_word_of_slurm_or_of_the_history_is_known_also_where_the_time_before_has_none(sources, chosen, users):
    wanted = HistoryFilter(**{name: frozenset(words) for name, words in chosen.items()})
    query = replace(asked(0, 24, filter=wanted, columns=HOURS), compare=True)
    assert [row.key for row in report(STAFF, sources, query).rows] == users
