"""The mails of a ladder, one for each user, rule, step and pass; and whether the site's templates can be filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from data.model import Job
from data.words import clean
from policy.decide import Act, ActKey
from policy.letters import check_letter, letter
from policy.model import Status, Verdict
from policy.notice_values import Following, followings, moment_words, notice_values, site_of
from policy.rules import rules_of
from settings import RuleMode, Settings, StepAction

__all__ = ["Following", "check_templates", "followings", "groups_of", "notice_for", "staff_notice"]

NOTICE, STAFF = "notice", "staff"


def groups_of(acts: Sequence[Act]) -> tuple[tuple[Act, ...], ...]:
    """The acts of a pass by what one mail is about: user, rule, step and action."""

    def about(act: Act) -> tuple[str, str, int, str]:
        return (act.job.user or "", act.rule, act.step, act.action.value)

    return tuple(tuple(group) for _, group in groupby(sorted(acts, key=about), key=about))


def notice_for(
    acts: Sequence[Act],
    settings: Settings,
    *,
    reference: str,
    to: str,
    now: datetime,
    after: Mapping[ActKey, tuple[Following, ...]],
) -> EmailMessage:
    """One mail about acts of one user, rule and step (`groups_of`). `after` are the steps of `followings`.

    Raises SettingsError for a template that cannot be filled.
    """
    values = notice_values(acts, settings, now=now, after=after)
    title = f"GPU use on {values['site']}"
    return letter(NOTICE, values, settings.mail, to=(to,), title=title, reference=reference, now=now)


def staff_notice(lines: Sequence[str], settings: Settings, *, reference: str, now: datetime) -> EmailMessage:
    """One mail to all of mail.staff: what went wrong, a line each."""
    site = site_of(settings)
    values = {
        "site": site,
        "lines": [clean(line) for line in lines],
        "count": len(lines),
        "now": moment_words(now, ZoneInfo(settings.site_timezone)),
        "dashboard": settings.mail.dashboard,
    }
    title = f"Fullwarp on {site}"
    return letter(STAFF, values, settings.mail, to=settings.mail.staff, title=title, reference=reference, now=now)


def check_templates(settings: Settings) -> None:
    """Fill the templates for jobs that never were, before the first real mail.

    Raises SettingsError, with the template's name and the field, for a field that does not exist and for a mail that
    would not show its jobs, the reason or the next step.
    """
    for values in _samples(settings):
        needed = {"jobs[].id": values["jobs"][0].id, "reasons": values["reasons"][0], "next_at": values["next_at"]}
        check_letter(NOTICE, values, needed, settings.mail)
    line, now = "Something went wrong.", "Tue 10 Mar"
    staff = {"site": "the cluster", "lines": [line], "count": 1, "now": now, "dashboard": settings.mail.dashboard}
    check_letter(STAFF, staff, {"lines": line}, settings.mail)


def _samples(settings: Settings) -> Iterator[dict[str, Any]]:
    """The values of every kind of mail: of each rule, a warning with and without a next step, and a cancellation."""
    now = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
    job = Job("cluster", 4711, "4711_3", "RUNNING", name="sample", user="user", partition="gpu", nodes=("gpu01",))
    for rule in rules_of(settings.policy):
        verdict = Verdict(
            rule.name, rule.kind, RuleMode.ACT, Status.LOW, sentence="Sample reason.", devices_allocated=1
        )
        for action, follows in ((StepAction.WARN, True), (StepAction.WARN, False), (StepAction.CANCEL, False)):
            act = Act(job, verdict, rule.name, 1, 2, action, now)
            later = (Following(StepAction.CANCEL, now + timedelta(minutes=47)),) if follows else ()
            yield notice_values([act], settings, now=now, after={act.key: later})
