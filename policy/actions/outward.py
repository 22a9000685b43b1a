"""All outward acts of a site together: what the enforcer is given to act with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage

from data.model import Job
from data.protocols import SchedulerSource
from data.words import count
from policy.actions.addresses import Addresses
from policy.actions.cancel import Canceller
from policy.actions.comment import Commenter
from policy.actions.mail import Mailer
from policy.actions.outcome import Refused, Unsettled
from policy.actions.webhook import Webhook
from policy.decide import Act, ActKey
from policy.notices import Following, groups_of, notice_for, staff_notice
from settings import Settings, StepAction


class Acts:
    """Mail, cancellation, comment and chat as the settings say. Every method raises Refused for what was surely not
    done; `send` and `cancel` also Unsettled."""

    def __init__(self, settings: Settings, scheduler: SchedulerSource) -> None:
        self._settings = settings
        self._mailer, self._addresses = Mailer(settings.mail), Addresses(settings.mail)
        self._canceller = Canceller(settings.slurm, scheduler)
        self._commenter = Commenter(settings.slurm, scheduler)
        self._webhook = Webhook(settings.webhook)

    def notice(
        self, acts: Sequence[Act], reference: str, now: datetime, after: Mapping[ActKey, tuple[Following, ...]]
    ) -> EmailMessage:
        """The mail to the acts' user; refused where no address is known."""
        to = self.address(acts[0].job.user or "")
        return notice_for(acts, self._settings, reference=reference, to=to, now=now, after=after)

    def address(self, user: str) -> str:
        """The user's mail address; refused where none is known."""
        found = self._addresses.of(user) if user else None
        if found is None:
            raise Refused(f"no mail address is known of {user or 'a user whom Slurm does not tell'}")
        return found

    def check_mail(self) -> None:
        """Whether the mail server would take a mail now."""
        self._mailer.check()

    def send(self, message: EmailMessage) -> None:
        self._mailer.send(message)

    def cancel(self, job: Job, cancel_id: str) -> None:
        self._canceller.cancel(job, cancel_id)

    def comment(self, act: Act, now: datetime) -> None:
        """Write the step into the job's AdminComment, where policy.comment says so."""
        if self._settings.policy.comment:
            when = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
            self._commenter.comment(act.job, f"{act.action} {when} (step {act.step} of the rule {act.rule})")

    def tell_staff(self, lines: Sequence[str], reference: str, now: datetime) -> None:
        """Tell mail.staff, and the webhook, what went wrong. Refused where it is not known that one of them took it:
        told twice is better than never."""
        refused = []
        for tell in (self._mail_staff, self._tell_chat):
            try:
                return tell(lines, reference, now)
            except (Refused, Unsettled) as err:
                refused.append(str(err))
        raise Refused("; ".join(refused))

    def announce(self, acts: Sequence[Act], now: datetime) -> None:
        """Tell the site's chat what was done."""
        if self._settings.webhook.is_set and acts:
            self._webhook.tell("\n".join(_announcement(group) for group in groups_of(acts)))

    def _mail_staff(self, lines: Sequence[str], reference: str, now: datetime) -> None:
        if not self._settings.mail.staff:
            raise Refused("mail.staff is empty")
        self._mailer.send(staff_notice(lines, self._settings, reference=reference, now=now))
        with suppress(Refused):
            self._tell_chat(lines, reference, now)

    def _tell_chat(self, lines: Sequence[str], reference: str, now: datetime) -> None:
        if not self._settings.webhook.is_set:
            raise Refused("no webhook is set")
        self._webhook.tell("\n".join(lines))


def _announcement(acts: Sequence[Act]) -> str:
    """One line about acts of one user, rule and step."""
    first, jobs = acts[0], ", ".join(act.job.display_id for act in acts)
    done = "cancelled" if first.action is StepAction.CANCEL else f"warned (step {first.step})"
    return f"{count(len(acts), 'job')} of {first.job.user} {done} by the rule {first.rule}: {jobs}"
