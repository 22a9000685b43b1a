"""Whom to mail about what finished jobs wasted: limits, how often, and who is left alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from data.queries.history.waste import Waste, WasteReport
from policy.rules import matches
from settings import NotifyKindSettings, NotifySettings

ToldAt = Mapping[tuple[str, str], datetime]
"""When a user was last told of a kind, by (user, kind)."""


@dataclass(frozen=True, slots=True)
class Told:
    """One waste beyond the limits. `why_not` says why its user is not mailed; "" = they are."""

    waste: Waste
    why_not: str = ""

    @property
    def is_mailed(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, slots=True)
class Plan:
    """`rows` are all beyond the limits, as staff read them; `mails` what each user gets, worst first."""

    report: WasteReport
    rows: tuple[Told, ...]
    mails: Mapping[str, tuple[Waste, ...]]


def plan(report: WasteReport, settings: NotifySettings, told_at: ToldAt, now: datetime) -> Plan:
    """Choose the mails. A kind that its user was told of lately, that only staff read, or whose user is exempt is not
    mailed, and says why."""
    beyond = [one for one in report.rows if is_beyond(one, settings.kinds[one.kind])]
    rows = [Told(one, _why_not(one, settings, told_at, now)) for one in beyond]
    weight: dict[str, float] = {}
    for row in rows:
        if row.is_mailed:
            one = row.waste
            weight[one.user] = max(weight.get(one.user, 0.0), one.amount / settings.kinds[one.kind].least)
    chosen = sorted(weight, key=lambda user: (-weight[user], user))[: settings.most_users]
    late = f"at most {settings.most_users} users a run"
    rows = [Told(row.waste, row.why_not or ("" if row.waste.user in chosen else late)) for row in rows]
    mails = {user: tuple(row.waste for row in rows if row.is_mailed and row.waste.user == user) for user in chosen}
    return Plan(report, tuple(rows), mails)


def is_beyond(waste: Waste, limits: NotifyKindSettings) -> bool:
    """Whether the amount, the ratio and the user's part of all are each at or above their limit."""
    ratio, share = waste.ratio, waste.share_of_all
    return (
        waste.amount >= limits.least
        and ratio is not None
        and ratio >= limits.ratio
        and (share or 0.0) >= limits.share_of_all
        and waste.judged >= limits.judged
    )


def _why_not(waste: Waste, settings: NotifySettings, told_at: ToldAt, now: datetime) -> str:
    if not settings.kinds[waste.kind].mail:
        return "only staff read of it"
    if matches(settings.exempt_users, waste.user):
        return "exempt"
    last = told_at.get((waste.user, waste.kind))
    if last is not None and now - last < timedelta(days=settings.again_days):
        return f"told on {last:%Y-%m-%d}"
    return ""
