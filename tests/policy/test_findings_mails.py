"""Mails about finished jobs: ratio and floor, at most one of a kind in so many days, nobody dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from data.enforcement.store import ENFORCEMENT
from data.errors import SettingsError
from data.queries.history.waste import UnreadJob, Waste, WastefulJob, WasteReport
from data.queries.history.waste_kinds import WASTE_KINDS
from data.state.store import StateStore, open_store
from policy.actions.findings import FindingsPost, Sent, told_before
from policy.actions.outcome import Refused
from policy.findings_mails import (
    JobRow,
    Section,
    UserRow,
    check_findings_templates,
    findings_mail,
    findings_values,
    staff_findings_mail,
    staff_values,
)
from policy.findings_plan import Plan, plan
from settings import NotifySettings, Settings
from tests.policy.test_notices import parts_of
from tests.services.mail import Inbox

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
LIMITS = NotifySettings.model_validate({"kinds": {"zero_gpu_hours": {"least": 20, "ratio": 0.2}}})


def job(number: int = 4711, amount: float = 30.0, name: str = "train") -> WastefulJob:
    return WastefulJob(str(number), name, "gpu", NOW - DAY, 4, 32, 7200.0, amount, 0.5)


def waste(user: str = "alice", amount: float = 30.0, whole: float = 100.0, **fields: object) -> Waste:
    made = Waste(user, "zero_gpu_hours", amount, whole, 1, 3, 1000.0, (job(amount=amount),))
    return replace(made, **fields)  # type: ignore[arg-type]


def report(*rows: Waste, unread: tuple[UnreadJob, ...] = ()) -> WasteReport:
    return WasteReport(NOW - 7 * DAY, NOW, rows, unread, len(unread))


def planned(*rows: Waste, limits: NotifySettings = LIMITS, **told_days_ago: float) -> Plan:
    told = {(user, "zero_gpu_hours"): NOW - days * DAY for user, days in told_days_ago.items()}
    return plan(report(*rows), limits, told, NOW)


@pytest.mark.parametrize(
    ("amount", "whole", "is_told"), [(20, 100, True), (19.9, 50, False), (30, 151, False), (20, 0, False)]
)
def test_ratio_and_floor_must_both_be_reached(amount: float, whole: float, is_told: bool) -> None:
    assert bool(planned(waste(amount=amount, whole=whole)).rows) == is_told


def test_heavy_users_and_enough_jobs_can_be_asked_for() -> None:
    for limit in ({"share_of_all": 0.11}, {"judged": 4}):
        limits = NotifySettings.model_validate({"kinds": {"zero_gpu_hours": {"least": 20, "ratio": 0.2} | limit}})
        assert planned(waste(), limits=limits).rows == ()


def test_each_reason_not_to_mail_is_said_and_staff_read_of_it_all_the_same() -> None:
    rows = [waste(user) for user in ("alice", "bob", "carol", "svc-ci")]
    limits = LIMITS.model_copy(update={"exempt_users": ["svc-*"]})
    found = planned(*rows, limits=limits, bob=13.9, carol=14.0)
    assert [(row.waste.user, row.why_not) for row in found.rows] == [
        ("alice", ""),
        ("bob", "told on 2026-02-24"),
        ("carol", ""),
        ("svc-ci", "exempt"),
    ]
    assert list(found.mails) == ["alice", "carol"]
    quiet = NotifySettings.model_validate({"kinds": {"zero_gpu_hours": {"mail": False}}})
    assert [row.why_not for row in planned(waste(), limits=quiet).rows] == ["only staff read of it"]


def test_those_with_most_are_mailed_when_there_are_too_many() -> None:
    rows = [waste(f"u{number}", amount=20.0 + number) for number in range(5)]
    found = planned(*rows, limits=LIMITS.model_copy(update={"most_users": 2}))
    assert list(found.mails) == ["u4", "u3"]
    assert [row.why_not for row in found.rows] == ["at most 2 users a run"] * 3 + ["", ""]


def test_several_kinds_of_a_user_are_one_mail() -> None:
    other = waste(kind="fragmented", amount=99.0)
    found = planned(waste(), other)
    assert [one.kind for one in found.mails["alice"]] == ["zero_gpu_hours", "fragmented"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kinds": {"nonsense": {"least": 1, "ratio": 0.1}}}, "no kind 'nonsense'"),
        ({"kinds": {"serial": {"ratio": 1.5}}}, "kinds.serial.ratio"),
        ({"kinds": {"serial": {"least": 0}}}, "kinds.serial.least"),
    ],
)
def test_wrong_limits_are_named(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        NotifySettings.model_validate(fields)
    assert words in str(caught.value)


def test_every_kind_of_the_queries_has_limits_and_none_is_unknown_to_them() -> None:
    assert set(NotifySettings().kinds) == set(WASTE_KINDS)


def settings_of(inbox: Inbox | None = None, **mail: object) -> Settings:
    base = {"host": "localhost", "security": "none", "sender": "hpc@example.org", "port": inbox.port if inbox else 25}
    more = {
        "address_pattern": "{user}@example.org",
        "staff": ["sam@example.org"],
        "dashboard": "https://warp.example.org",
    }
    notify = {"kinds": {"zero_gpu_hours": {"least": 20, "ratio": 0.2}}}
    return Settings.model_validate({"cluster": "della", "mail": base | more | mail, "notify": notify})


SAID = (
    *("30.0 GPU-h", "30 % of 100 GPU-h", "1 job", "4711", "train", "4 GPUs, 32 cores", "2 h", "Mon 9 Mar"),
    *("selects the GPU", "https://warp.example.org/jobs/4711", "Nothing follows", "14 d"),
)


def test_a_user_reads_what_was_wasted_by_which_job_and_what_to_do() -> None:
    shown = waste(examples=(job(), job(4712, amount=0.01)))
    message = findings_mail(
        "alice", [shown], report(shown), settings_of(), to="alice@example.org", reference="r", now=NOW
    )
    for body in parts_of(message):
        for words in SAID:
            assert words in body, words
        assert "4712" not in body  # a hundredth of it is no example
    assert message["Subject"] == "GPUs that did nothing in your jobs: 30.0 GPU-h"


def test_hostile_names_of_jobs_and_users_stay_names() -> None:
    name = "<script>x</script>\r\nBcc: all@example.org"
    shown = waste(examples=(job(name=name),))
    message = findings_mail("alice", [shown], report(shown), settings_of(), to="a@example.org", reference="r", now=NOW)
    assert "<script>" not in parts_of(message)[1] and message["Bcc"] is None
    hostile = report(waste("<b>bob</b>"), unread=(UnreadJob("<i>", "9", NOW, None, "its summary is damaged"),))
    staff = staff_findings_mail(plan(hostile, LIMITS, {}, NOW), settings_of(), reference="r", now=NOW)
    assert not any(tag in parts_of(staff)[1] for tag in ("<b>", "<i>"))


def test_staff_read_all_users_and_the_jobs_that_nobody_could_judge() -> None:
    unread = (
        UnreadJob("bob", "77", NOW - DAY, 40.0, "its summary is damaged"),
        UnreadJob(None, "78", NOW, None, "why"),
    )
    found = plan(report(waste(), waste("bob"), unread=unread), LIMITS, {("bob", "zero_gpu_hours"): NOW - DAY}, NOW)
    message = staff_findings_mail(found, settings_of(), reference="r", now=NOW)
    for body in parts_of(message):
        for words in (
            "alice",
            "bob",
            "told on 2026-03-09",
            "2 jobs",
            "77",
            "its summary is damaged",
            "40.0 GPU-h",
            "not known",
        ):
            assert words in body, words
    assert message["Subject"].startswith("2 users are beyond the limits of waste")
    nobody = staff_findings_mail(plan(report(), LIMITS, {}, NOW), settings_of(), reference="r", now=NOW)
    assert all("Every job with GPUs could be judged" in body for body in parts_of(nobody))


def test_the_templates_are_tried_and_every_field_is_described(tmp_path: Path) -> None:
    check_findings_templates(settings_of())
    (tmp_path / "findings.txt.j2").write_text("{{ sections[0].amount }} {{ sections[0].rows[0].nonsense }}")
    with pytest.raises(SettingsError, match=r"findings\.txt\.j2.*nonsense"):
        check_findings_templates(settings_of(templates=tmp_path))
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "mail.md").read_text(encoding="utf-8")
    values = findings_values("alice", [waste()], report(), settings_of(), NOW).keys()
    staff = staff_values(plan(report(), LIMITS, {}, NOW), settings_of(), NOW).keys()
    rows = {name for row in (JobRow, UserRow, Section) for name in row.__dataclass_fields__}
    assert [name for name in {*values, *staff, *rows} if f"`{name}`" not in page] == []


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    settings = Settings.model_validate({"enforcement": {"directory": tmp_path / "kept"}})
    made = open_store(settings.enforcement, writes=True, kind=ENFORCEMENT)
    assert made is not None
    yield made
    made.close()


def sent(inbox: Inbox, store: StateStore, *rows: Waste, now: datetime = NOW, **mail: object) -> Sent:
    settings = settings_of(inbox, **mail)
    return FindingsPost(settings, store, now).send(plan(report(*rows), settings.notify, told_before(store), now))


def test_each_user_is_mailed_once_in_so_many_days_and_staff_each_time(mail_inbox: Inbox, store: StateStore) -> None:
    for days in (0, 1, 13.9):
        assert sent(mail_inbox, store, waste(), now=NOW + days * DAY).faults == ()
    assert [to for (to,) in mail_inbox.recipients] == ["alice@example.org", *["sam@example.org"] * 3]
    sent(mail_inbox, store, waste(), now=NOW + 14 * DAY)
    assert [to for (to,) in mail_inbox.recipients].count("alice@example.org") == 2


def test_another_kind_is_told_although_the_first_was_told_lately(mail_inbox: Inbox, store: StateStore) -> None:
    sent(mail_inbox, store, waste())
    sent(mail_inbox, store, waste(), waste(kind="fragmented", amount=99.0), now=NOW + DAY)
    (second,) = [mail for mail, to in zip(mail_inbox.mails, mail_inbox.recipients, strict=True) if to[0][0] == "a"][1:]
    assert second["Subject"].startswith("GPUs on more nodes than needed")


def test_two_runs_at_once_mail_once(mail_inbox: Inbox, store: StateStore) -> None:
    settings = settings_of(mail_inbox)
    both = [plan(report(waste()), settings.notify, told_before(store), NOW) for _ in range(2)]
    ends = [FindingsPost(settings, store, NOW).send(one) for one in both]
    assert [len(one.plan.mails) for one in ends] == [1, 0]
    assert [to for (to,) in mail_inbox.recipients].count("alice@example.org") == 1


def test_what_was_surely_not_sent_is_tried_again_and_the_others_go_on(mail_inbox: Inbox, store: StateStore) -> None:
    mail_inbox.refused = {"alice@example.org"}
    first = sent(mail_inbox, store, waste(), waste("bob"))
    assert [fault.split(":")[0] for fault in first.faults] == ["alice"]
    assert [row.why_not[:25] for row in first.plan.rows] == [first.faults[0].removeprefix("alice: ")[:25], ""]
    mail_inbox.refused = set()
    assert list(sent(mail_inbox, store, waste(), waste("bob"), now=NOW + DAY).plan.mails) == ["alice"]


def test_what_may_have_been_sent_is_not_sent_twice(mail_inbox: Inbox, store: StateStore) -> None:
    mail_inbox.at_data = "cut"
    faults = sent(mail_inbox, store, waste()).faults
    assert faults[0].startswith("alice: may have been mailed")
    mail_inbox.at_data = ""
    assert sent(mail_inbox, store, waste(), now=NOW + DAY).plan.mails == {}


def test_an_unknown_address_is_said_to_staff(mail_inbox: Inbox, store: StateStore) -> None:
    end = sent(mail_inbox, store, waste(), address_pattern="")
    assert end.faults == ("alice: no mail address is known",)
    (staff,) = mail_inbox.mails
    assert all("no mail address is known" in body for body in parts_of(staff))
    assert sent(mail_inbox, store, waste(), staff=[]).faults == ("mail.staff is empty, so nobody of them reads this",)


def test_a_template_that_cannot_be_filled_for_a_user_leaves_them_untold(
    mail_inbox: Inbox, store: StateStore, tmp_path: Path
) -> None:
    (tmp_path / "findings.txt.j2").write_text("{{ {'bob': 'hello'}[user] }}")
    end = sent(mail_inbox, store, waste(), waste("bob"), templates=tmp_path)
    assert [fault.split(":")[0] for fault in end.faults] == ["alice"] and "findings.txt.j2" in end.faults[0]
    assert [user for user, _ in told_before(store)] == ["bob"]


def test_without_a_mail_server_nobody_is_taken_as_told(mail_inbox: Inbox, store: StateStore) -> None:
    with pytest.raises(Refused, match="localhost:1"):
        sent(mail_inbox, store, waste(), port=1)
    assert told_before(store) == {}
