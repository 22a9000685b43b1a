"""Digests by mail: a user's own to them, an account's to its coordinators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from commands.asked import Screen
from data.errors import BadRequest, SettingsError, SourceError

if TYPE_CHECKING:
    from email.message import EmailMessage

    from data.queries.history.digest import Digest
    from terminal.session import View


def mail_digests(screen: Screen, view: View, made: Sequence[Digest], now: datetime) -> None:
    """Mail each digest. What fails for one is said, and the others go on; raises SourceError then."""
    from policy.actions.addresses import Addresses
    from policy.actions.mail import Mailer
    from policy.actions.outcome import Refused, Unsettled

    settings = view.sources.settings
    if not view.viewer.is_staff:
        raise BadRequest("only staff may mail digests", hint="Write your own: --digest user --to FOLDER.")
    if not settings.mail.is_set:
        raise SettingsError("mail.host is empty", hint="Set [mail]; see docs/how-to/mail.md.")
    mailer, addresses = Mailer(settings.mail), Addresses(settings.mail)
    sent = 0
    faults: list[str] = []
    for found in made:
        readers = _readers(view, found)
        if not readers:
            faults.append(f"{found.name}: the account has no coordinator")
        for user in readers:
            try:
                to = addresses.of(user)
                if to is None:
                    raise Refused("no mail address is known")
                mailer.send(_message(view, found, to, now))
                sent += 1
            except (Refused, Unsettled) as err:
                faults.append(f"{user}: {err}")
    screen.tell(f"mailed {sent} digests")
    if faults:
        raise SourceError("; ".join(faults), hint="The others were mailed.")


def _readers(view: View, found: Digest) -> list[str]:
    """Who gets a digest: the user, or the account's coordinators in Slurm."""
    if found.by.value == "user":
        return [found.name]
    rows = view.sources.associations()
    return sorted({row.user for row in rows if row.account == found.name and row.is_coordinator and row.user})


def _message(view: View, found: Digest, to: str, now: datetime) -> EmailMessage:
    from policy.letters import composed
    from policy.notice_values import site_of
    from terminal.history_pages import digest_html, digest_text

    mail = view.sources.settings.mail
    since, until = (moment.astimezone(view.zone) for moment in (found.query.since, found.query.until))
    span = f"{since:%Y-%m-%d} to {until:%Y-%m-%d}"
    return composed(
        f"GPU use of {found.by.value} {found.name}, {span}",
        digest_text(found, view.zone, now),
        digest_html(found, view.zone, now),
        mail,
        to=(to,),
        title=f"GPU use on {site_of(view.sources.settings)}",
        reference=f"digest {found.by.value} {found.name} {span} {to}",
        now=now,
    )
