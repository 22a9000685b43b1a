"""Sends the mails about finished jobs: to a user at most one of a kind in so many days, and to staff one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from data.errors import SettingsError
from data.queries.history.waste import Waste
from data.state.store import StateStore
from policy.actions.addresses import Addresses
from policy.actions.mail import Mailer
from policy.actions.outcome import Refused, Unsettled
from policy.findings_mails import findings_mail, staff_findings_mail
from policy.findings_plan import Plan, Told
from policy.store.told import claim, told_of, unclaim
from settings import Settings

KIND = "finding "


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a plan. `plan` says of every row why it was not mailed; `faults` are for whoever runs it."""

    plan: Plan
    faults: tuple[str, ...] = ()


def told_before(store: StateStore | None) -> Mapping[tuple[str, str], datetime]:
    """When each user was last told of each kind."""
    if store is None:
        return {}
    with store.connection() as connection:
        return told_of(connection, KIND)


class FindingsPost:
    """The way of these mails. `store` keeps who was told."""

    def __init__(self, settings: Settings, store: StateStore, now: datetime) -> None:
        self._settings, self._store, self._now = settings, store, now
        self._mailer, self._addresses = Mailer(settings.mail), Addresses(settings.mail)

    def send(self, plan: Plan) -> Sent:
        """Mail each user, then staff. What fails for one user is said, and the others go on; when the server is away
        nobody is mailed. Raises Refused then."""
        self._mailer.check()
        told = told_before(self._store)
        failed: dict[str, str] = {}
        mailed: dict[str, tuple[Waste, ...]] = {}
        for user, wastes in plan.mails.items():
            mine = self._claimed(user, wastes)
            try:
                self._mail(user, mine, plan)
                mailed |= {user: mine} if mine else {}
            except (Refused, SettingsError) as err:
                failed[user] = str(err)
                self._give_back(user, mine, told)
            except Unsettled as err:
                failed[user] = f"may have been mailed: {err}"
        done = replace(plan, rows=tuple(_after(row, failed) for row in plan.rows), mails=mailed)
        faults = [f"{user}: {why}" for user, why in failed.items()]
        return Sent(done, (*faults, *self._tell_staff(done)))

    def _mail(self, user: str, wastes: Sequence[Waste], plan: Plan) -> None:
        if not wastes:
            return
        to = self._addresses.of(user)
        if to is None:
            raise Refused("no mail address is known")
        kinds = " ".join(sorted(one.kind for one in wastes))
        reference = f"findings {user} {kinds} {self._now:%Y-%m-%d}"
        report, now = plan.report, self._now
        self._mailer.send(findings_mail(user, wastes, report, self._settings, to=to, reference=reference, now=now))

    def _claimed(self, user: str, wastes: Sequence[Waste]) -> tuple[Waste, ...]:
        """Those that nobody told meanwhile. Claimed before the mail: a crash in between costs a mail, and doubles
        none."""
        before = self._now - timedelta(days=self._settings.notify.again_days)
        with self._store.connection() as connection:
            return tuple(one for one in wastes if claim(connection, KIND + one.kind, user, self._now, before))

    def _give_back(self, user: str, wastes: Sequence[Waste], told: Mapping[tuple[str, str], datetime]) -> None:
        with self._store.connection() as connection:
            for one in wastes:
                unclaim(connection, KIND + one.kind, user, told.get((user, one.kind)))

    def _tell_staff(self, plan: Plan) -> tuple[str, ...]:
        if not self._settings.mail.staff:
            return ("mail.staff is empty, so nobody of them reads this",)
        until = plan.report.until
        reference = f"findings staff {plan.report.since:%Y-%m-%dT%H:%M} {until:%Y-%m-%dT%H:%M}"
        try:
            refused = self._mailer.send(staff_findings_mail(plan, self._settings, reference=reference, now=self._now))
        except (Refused, Unsettled) as err:
            return (f"staff: {err}",)
        return tuple(f"staff: {address} was refused" for address in refused)


def _after(row: Told, failed: Mapping[str, str]) -> Told:
    why = failed.get(row.waste.user) if row.is_mailed else None
    return row if why is None else replace(row, why_not=why)
