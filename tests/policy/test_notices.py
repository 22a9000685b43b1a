"""The mails of a ladder: what they say; hostile names stay names, and a wrong template is refused at start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from data.errors import SettingsError
from data.model import Job
from policy.decide import Act, Decision, Situation, decide
from policy.ladder import take
from policy.letters import SHIPPED
from policy.model import JobVerdict, Status, Verdict, attempt_of
from policy.notice_values import JobLine, notice_values
from policy.notices import Following, check_templates, followings, groups_of, notice_for, staff_notice
from policy.rules import rules_of
from settings import RuleKind, RuleMode, Settings, StepAction
from tests.live.builders import make_job

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MAIL = {
    "host": "localhost",
    "sender": "hpc@example.org",
    "reply_to": "help@example.org",
    "dashboard": "https://warp.example.org",
}


def settings_of(templates: Path | None = None, **fields: object) -> Settings:
    given = {
        "cluster": "della",
        "site_timezone": "Europe/Berlin",
        "mail": MAIL | {"templates": templates},
        "policy": {"warn_only_days": 0, "rules": {"low-mean": {"mode": "act"}}},
    }
    return Settings.model_validate(given | fields)


def idle_verdict(minutes: float, **fields: object) -> Verdict:
    base = Verdict(
        "idle",
        RuleKind.IDLE,
        RuleMode.ACT,
        Status.LOW,
        sentence=f"All 4 GPUs are idle for at least {minutes:g} min.",
        window_seconds=2700.0,
        coverage=1.02,
        devices_allocated=4,
        idle_seconds=minutes * 60,
        wasted_gpu_hours_window=3.0,
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def act_on(job: Job, step: int = 1, action: StepAction = StepAction.WARN, **fields: object) -> Act:
    verdict = idle_verdict(50, **fields)
    return Act(job, verdict, "idle", 1, step, action, NOW - 50 * MINUTE)


def notice(acts: Sequence[Act], settings: Settings, later: tuple[Following, ...] = ()) -> EmailMessage:
    after = {act.key: later for act in acts}
    return notice_for(acts, settings, reference="r1", to="alice@example.org", now=NOW, after=after)


def parts_of(message: EmailMessage) -> tuple[str, str]:
    text, page = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None and page is not None
    return text.get_content(), page.get_content()


LATER = (Following(StepAction.WARN, NOW + 30 * MINUTE), Following(StepAction.CANCEL, NOW + 45 * MINUTE))


def test_a_warning_says_what_was_measured_why_what_to_do_what_follows_and_how_to_appeal() -> None:
    job = make_job(4711, user="alice", name="train", nodes=("gpu01", "gpu02"))
    message = notice([act_on(job)], settings_of(), LATER)
    for body in parts_of(message):
        for words in (
            "4711",
            "train",
            "gpu01, gpu02",
            "Tue 10 Mar, 12:10 CET",  # low since
            "idle for 50 min",
            "coverage 100 %",
            "3.0 GPU-h",
            "All 4 GPUs are idle for at least 50 min.",
            "nothing but idle samples for 45 min",
            "scancel 4711",
            "another mail follows",
            "Tue 10 Mar, 13:30 CET",
            "Tue 10 Mar, 13:45 CET",
            "help@example.org",
            "https://warp.example.org/jobs/4711",
        ):
            assert words in body, words
    assert message["Subject"] == "Job 4711 holds GPUs and hardly uses them"
    assert message["Reply-To"] == "help@example.org"
    assert message["Auto-Submitted"] == "auto-generated"


def test_the_last_warning_and_the_mail_of_a_cancellation_say_so() -> None:
    job = make_job(4711, user="alice")
    last = notice([act_on(job, 2)], settings_of(), LATER[1:])
    assert all("the job is cancelled" in body for body in parts_of(last))
    assert last["Subject"].endswith("(warning 2)")
    only = notice([act_on(job, 2)], settings_of())
    assert all("nothing else follows" in body and "cancelled" not in body for body in parts_of(only))
    ended = notice([act_on(job, 3, StepAction.CANCEL)], settings_of())
    assert all("scancel" not in body and "was cancelled" in body for body in parts_of(ended))
    assert ended["Subject"] == "Job 4711 was cancelled: its GPUs were not used"


@pytest.mark.parametrize("rules", [{"idle": {"mode": "off"}}, {"low-mean": {"mode": "act"}}])
@pytest.mark.parametrize("kind", [RuleKind.IDLE, RuleKind.MEAN])
def test_who_lost_a_job_is_told_also_after_the_rule_was_taken_away(kind: RuleKind, rules: dict[str, object]) -> None:
    given = {"kind": kind, "mean": 0.01, "threshold": 0.05} if kind is RuleKind.MEAN else {}
    name = "idle" if "idle" in rules else "gone"
    act = replace(act_on(make_job(7), 3, StepAction.CANCEL, **given), rule=name)
    text, _ = parts_of(notice([act], settings_of(policy={"rules": rules})))
    assert "Job 7" in text and "All 4 GPUs are idle for at least 50 min." in text


def test_what_is_not_measured_is_not_zero_in_the_mail() -> None:
    jobs = [make_job(number, user="alice") for number in (1, 2)]
    acts = [act_on(jobs[0]), act_on(jobs[1], wasted_gpu_hours_window=None, coverage=None, devices_allocated=None)]
    text, page = parts_of(notice(acts, settings_of()))
    assert "not measured" in text and "not known" in text and "0.0 GPU-h" not in text
    assert "3.0 GPU-h of 1 measured job" in page


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.links: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.links |= {value for name, value in attrs if name in {"href", "src"} and value}


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "x\r\nBcc: all@example.org\r\n\r\nbody",
        "\x1b[31mred\u202egpj.exe",
        "{{ settings }}{% raise %}",
        "n" * 5000,
        "\ud800 half",
    ],
)
def test_a_hostile_name_is_only_a_name(name: str) -> None:
    message = notice([act_on(make_job(4711, user="alice", name=name))], settings_of(), LATER)
    raw = message.as_bytes()
    heads = raw.split(b"\n\n", 1)[0].lower()
    assert b"bcc" not in heads and heads.count(b"\nto:") == 1
    text, page = parts_of(message)
    tags = _Tags(page)
    assert not tags.found & {"script", "img"}
    assert {link.split(":")[0] for link in tags.links} == {"https", "mailto"}
    assert "\x1b" not in text and "\u202e" not in page and "n" * 100 not in text


@given(name=st.text(max_size=80), node=st.text(max_size=20), user=st.text(min_size=1, max_size=20))
@hypothesis_settings(max_examples=40)
def test_whatever_slurm_calls_things_the_mail_has_the_same_heads_and_tags(name: str, node: str, user: str) -> None:
    assert heads_and_tags(user, name, node) == heads_and_tags("alice", "train", "gpu01")


@cache
def heads_and_tags(user: str, name: str, node: str) -> tuple[list[str], set[str]]:
    job = make_job(4711, user=user, name=name, nodes=(node,))
    message = message_from_bytes(notice([act_on(job)], settings_of(), LATER).as_bytes(), policy=default)
    assert isinstance(message, EmailMessage)
    return message.keys(), _Tags(parts_of(message)[1]).found


def test_the_same_facts_make_the_same_mail_and_the_reference_alone_its_id() -> None:
    acts = [act_on(make_job(4711, user="alice"))]
    first, again = (notice(acts, settings_of(), LATER) for _ in range(2))
    assert first.as_bytes() == again.as_bytes()
    other = notice_for(acts, settings_of(), reference="r2", to="alice@example.org", now=NOW, after={})
    assert other["Message-ID"] != first["Message-ID"]
    assert str(first["Message-ID"]).endswith("@example.org>")


def test_one_mail_is_about_one_user_rule_step_and_action() -> None:
    alice, bob = (make_job(number, user=user) for number, user in ((1, "alice"), (2, "bob")))
    acts = [act_on(alice), act_on(bob), act_on(make_job(3, user="alice")), act_on(make_job(4, user="alice"), 2)]
    ids = [[act.job.job_id for act in group] for group in groups_of(acts)]
    assert ids == [[1, 3], [4], [2]]


def passed(job: Job, earlier: Decision | None, now: datetime, settings: Settings) -> Decision:
    """A pass that finds the job idle since 45 minutes before NOW."""
    verdict = idle_verdict(45 + (now - NOW) / MINUTE)
    episodes = {} if earlier is None else earlier.episodes
    situation = Situation((JobVerdict(job, now, verdict, (verdict,)),), 100, episodes)
    return decide(situation, rules_of(settings.policy), settings.policy, UTC, now)


def test_the_times_in_the_mail_are_those_at_which_the_steps_come() -> None:
    settings, job = settings_of(), make_job(4711, user="alice")
    decision = passed(job, None, NOW, settings)
    told = followings(decision.acts, decision.episodes, {}, settings, NOW)[decision.acts[0].key]
    assert told == LATER
    for step, now in enumerate([NOW, *(one.at for one in told)], 1):
        early = passed(job, decision, now - timedelta(seconds=1), settings) if step > 1 else None
        assert early is None or early.acts == ()
        decision = passed(job, early or decision, now, settings) if step > 1 else decision
        assert [act.step for act in decision.acts] == [step]
        key = (attempt_of(job), "idle")
        decision = replace(decision, episodes={key: take(decision.episodes[key], now)})


def test_quiet_hours_and_the_first_days_of_a_rule_move_the_times() -> None:
    policy = {"quiet_from": "13:15", "quiet_until": "15:00", "warn_only_days": 7}
    settings = settings_of(policy=policy)
    decision = passed(make_job(4711), None, NOW, settings)
    told = followings(decision.acts, decision.episodes, {"idle": NOW}, settings, NOW)[decision.acts[0].key]
    assert told[0].at == NOW + 2 * timedelta(hours=1)  # 15:00 in Berlin
    assert told[1].at - NOW > timedelta(days=7)


def test_staff_get_a_line_for_each_thing(tmp_path: Path) -> None:
    settings = settings_of(mail=MAIL | {"staff": ["sam@example.org", "kim@example.org"]})
    message = staff_notice(["no address of <bob>", "slurmctld is away"], settings, reference="s", now=NOW)
    text, page = parts_of(message)
    assert message["To"] == "sam@example.org, kim@example.org"
    assert message["Subject"] == "2 things need a look"
    assert "- no address of <bob>" in text and "&lt;bob&gt;" in page


def test_the_shipped_templates_can_be_filled_and_one_of_the_site_takes_the_place_of_its_own(tmp_path: Path) -> None:
    check_templates(settings_of())
    (tmp_path / "notice.subject.j2").write_text("[{{ site }}] {{ count }} job(s) of {{ user }}\n")
    check_templates(settings_of(tmp_path))
    assert (
        notice([act_on(make_job(4711, user="alice"))], settings_of(tmp_path))["Subject"] == "[della] 1 job(s) of alice"
    )


SHOWS_ALL = "{{ jobs[0].id }} {{ reasons[0] }} {{ next_at }} "


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("notice.txt.j2", SHOWS_ALL + "{{ jbos }}", ["notice.txt.j2", "jbos, which does not exist"]),
        ("notice.txt.j2", SHOWS_ALL + "{% if 0 %}{{ yser }}{% endif %}", ["notice.txt.j2", "yser"]),
        ("notice.html.j2", SHOWS_ALL + "{{ jobs[0].gpu }}", ["notice.html.j2", "'gpu'"]),
        ("notice.html.j2", SHOWS_ALL + "{{ jobs[9].id }}", ["notice.html.j2"]),
        ("notice.html.j2", SHOWS_ALL + "{% if %}", ["notice.html.j2, line 1"]),
        ("notice.txt.j2", "{{ jobs[0].id }} {{ next_at }}", ["notice.txt.j2 does not show reasons"]),
        ("notice.txt.j2", "{{ jobs[0].id }} {{ reasons[0] }}", ["notice.txt.j2 does not show next_at"]),
        ("notice.txt.j2", "{{ reasons[0] }} {{ next_at }}", ["notice.txt.j2 does not show jobs"]),
        ("notice.subject.j2", "  \n", ["notice.subject.j2 is empty"]),
        ("staff.txt.j2", "nothing", ["staff.txt.j2 does not show lines"]),
        ("notice.htm.j2", "x", ["notice.htm.j2", "no mail's template"]),
    ],
)
def test_a_wrong_template_is_refused_with_its_name_and_field(
    file: str, content: str, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(SettingsError) as caught:
        check_templates(settings_of(tmp_path))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_folder_of_templates_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is no folder"):
        check_templates(settings_of(tmp_path / "none"))


def test_every_field_of_the_mails_is_described() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "mail.md").read_text(encoding="utf-8")
    values = notice_values([act_on(make_job(1))], settings_of(), now=NOW, after={})
    names = [*values, *JobLine.__dataclass_fields__]
    assert [name for name in names if f"`{name}`" not in page] == []
    assert [path.name for path in SHIPPED.glob("*.j2") if path.name.split(".")[0] not in page] == []
