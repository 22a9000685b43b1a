"""The mails about finished jobs: one to each user, and the same tables of everybody to staff. Values in, a mail out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any
from zoneinfo import ZoneInfo

from data.queries.history.waste import Waste, WastefulJob, WasteReport
from data.queries.history.waste_kinds import WASTE_KINDS, Unit
from data.words import clean, count, duration, number, percent
from policy.findings_plan import Plan, Told
from policy.letters import check_letter, letter
from policy.notice_values import day_words, moment_words, shortened, site_of
from settings import Settings

FINDINGS, STAFF_FINDINGS = "findings", "staff_findings"
_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in a mail's table, every value as it is read."""

    id: str
    name: str
    partition: str
    ended: str
    size: str
    ran: str
    amount: str
    share: str
    link: str


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user in staff's table."""

    user: str
    amount: str
    share: str
    jobs: str
    judged: str
    mail: str


@dataclass(frozen=True, slots=True)
class Section:
    """One kind: what it is, how much, what to do, and a row for each job (or, for staff, user)."""

    id: str
    title: str
    what: str
    amount: str
    share: str
    jobs: str
    advice: str
    rows: tuple[Any, ...]


def findings_mail(
    user: str,
    wastes: Sequence[Waste],
    report: WasteReport,
    settings: Settings,
    *,
    to: str,
    reference: str,
    now: datetime,
) -> EmailMessage:
    """One mail to a user about all kinds that are due. Raises SettingsError for a template that cannot be filled."""
    values = findings_values(user, wastes, report, settings, now)
    title = f"GPU use on {values['site']}"
    return letter(FINDINGS, values, settings.mail, to=(to,), title=title, reference=reference, now=now)


def staff_findings_mail(plan: Plan, settings: Settings, *, reference: str, now: datetime) -> EmailMessage:
    """All that is beyond the limits, to mail.staff, with what could not be judged."""
    values = staff_values(plan, settings, now)
    title = f"Fullwarp on {values['site']}"
    return letter(
        STAFF_FINDINGS, values, settings.mail, to=settings.mail.staff, title=title, reference=reference, now=now
    )


def findings_values(
    user: str, wastes: Sequence[Waste], report: WasteReport, settings: Settings, now: datetime
) -> dict[str, Any]:
    """What the template of a user's mail can show; docs/how-to/mail.md describes each."""
    zone = ZoneInfo(settings.site_timezone)
    return {
        "user": clean(user),
        "sections": [_section(one, _job_rows(one, settings, zone)) for one in wastes],
        "count": len(wastes),
        "again": duration(settings.notify.again_days * 86_400),
        **_common(report, settings, now),
    }


def staff_values(plan: Plan, settings: Settings, now: datetime) -> dict[str, Any]:
    """What the template of staff's mail can show."""
    zone = ZoneInfo(settings.site_timezone)
    by_kind: dict[str, list[Told]] = {}
    for row in plan.rows:
        by_kind.setdefault(row.waste.kind, []).append(row)
    unread = [
        {
            "id": one.job_id,
            "user": clean(one.user or "not told"),
            "ended": day_words(one.ended_at, zone),
            "amount": amount_words(one.gpu_hours, Unit.GPU_HOURS),
            "why": one.why,
        }
        for one in plan.report.unread
    ]
    return {
        "sections": [_of_users(kind, rows) for kind, rows in by_kind.items()],
        "count": len({row.waste.user for row in plan.rows}),
        "mailed": len(plan.mails),
        "unread": unread,
        "unread_jobs": plan.report.unread_jobs,
        **_common(plan.report, settings, now),
    }


def amount_words(amount: float | None, unit: Unit) -> str:
    """An amount with its unit: "31.4 GPU-h"."""
    return "not known" if amount is None else f"{number(amount, 1 if 0 < amount < 99.95 else 0)} {unit}"


def check_findings_templates(settings: Settings) -> None:
    """Fill the templates for jobs that never were. Raises SettingsError as `policy.notices.check_templates`."""
    now = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
    job = WastefulJob("4711_3", "sample", "gpu", now, 4, 32, 7200.0, 471.1, 0.47)
    waste = Waste("somebody", "zero_gpu_hours", 471.1, 1000.0, 1, 1, 1000.0, (job,))
    report = WasteReport(now - timedelta(days=7), now, (waste,))
    values = findings_values("somebody", [waste], report, settings, now)
    section = values["sections"][0]
    needed = {"sections[].amount": section.amount, "sections[].rows[].id": job.job_id}
    check_letter(FINDINGS, values, needed, settings.mail)
    staff = staff_values(Plan(report, (Told(waste),), {}), settings, now)
    check_letter(STAFF_FINDINGS, staff, {"sections[].rows[].user": "somebody"}, settings.mail)


def _common(report: WasteReport, settings: Settings, now: datetime) -> dict[str, Any]:
    zone = ZoneInfo(settings.site_timezone)
    mail = settings.mail
    return {
        "site": site_of(settings),
        "since": day_words(report.since, zone),
        "until": day_words(report.until, zone),
        "notes": report.state.notes,
        "now": moment_words(now, zone),
        "reply_to": mail.reply_to or mail.sender,
        "dashboard": mail.dashboard,
        "help": mail.help,
    }


def _section(waste: Waste, rows: Sequence[Any]) -> Section:
    kind = WASTE_KINDS[waste.kind]
    return Section(
        kind.id,
        kind.title,
        kind.what,
        amount_words(waste.amount, kind.unit),
        f"{percent(waste.ratio)} of {amount_words(waste.whole, kind.unit)}",
        count(waste.jobs, "job"),
        kind.advice,
        tuple(rows),
    )


def _of_users(kind: str, rows: Sequence[Told]) -> Section:
    """The table of a kind over users; its amount is theirs together."""
    unit = WASTE_KINDS[kind].unit
    wastes = [row.waste for row in rows]
    whole = Waste(
        "",
        kind,
        sum(one.amount for one in wastes),
        sum(one.whole for one in wastes),
        sum(one.jobs for one in wastes),
        sum(one.judged for one in wastes),
        wastes[0].everybody,
    )
    table = [
        UserRow(
            clean(row.waste.user),
            amount_words(row.waste.amount, unit),
            percent(row.waste.ratio),
            number(row.waste.jobs),
            number(row.waste.judged),
            row.why_not or "mailed",
        )
        for row in rows
    ]
    return _section(whole, table)


def _job_rows(waste: Waste, settings: Settings, zone: ZoneInfo) -> list[JobRow]:
    """The jobs that matter: those with a hundredth of the amount or more."""
    shown = [job for job in waste.examples if job.amount * 100 >= waste.amount]
    return [_job_row(job, waste, settings, zone) for job in shown[: settings.notify.jobs]]


def _job_row(job: WastefulJob, waste: Waste, settings: Settings, zone: ZoneInfo) -> JobRow:
    board = settings.mail.dashboard
    size = count(job.gpus, "GPU") if job.gpus else "GPUs not known" if job.gpus is None else ""
    cores = count(job.cores, "core") if job.cores else ""
    return JobRow(
        job.job_id,
        shortened(clean(job.name), _NAME_CHARS),
        clean(job.partition),
        day_words(job.ended_at, zone),
        ", ".join(part for part in (size, cores) if part),
        duration(job.elapsed_seconds),
        amount_words(job.amount, WASTE_KINDS[waste.kind].unit),
        percent(job.share),
        f"{board}/jobs/{job.job_id}" if board else "",
    )
