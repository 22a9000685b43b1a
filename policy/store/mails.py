"""Mails under way: kept whole until the mail server has taken them, so that the same one can be sent again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP

from sqlalchemy import Connection, delete, insert, select, update

from data.enforcement.tables import AUDIT, MAILS
from policy.decide import Act


def reference_of(acts: Iterable[Act]) -> str:
    """What the Message-ID is made of: the attempts, rule, episodes and step, so that the same acts give the same."""
    keys = sorted(
        (f"{key[0][0]} {key[0][1]} {key[0][2]} {key[0][3]} {key[0][4]} {key[1]} {key[2]} {key[3]} {act.action}")
        for act in acts
        for key in (act.key,)
    )
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:40]


def plan_mail(connection: Connection, reference: str, act: Act, now: datetime) -> None:
    """Make room for a mail; one of the same reference stays what it is."""
    if connection.execute(select(MAILS.c.reference).where(MAILS.c.reference == reference)).first() is None:
        values = {
            "reference": reference,
            "user": act.job.user or "",
            "rule": act.rule,
            "step": act.step,
            "planned_at": now,
        }
        connection.execute(insert(MAILS).values(values))


def keep_message(connection: Connection, reference: str, message: EmailMessage) -> None:
    """From here on the mail may have been sent."""
    content = message.as_bytes(policy=SMTP)
    connection.execute(update(MAILS).where(MAILS.c.reference == reference).values(message=content))


def kept_message(connection: Connection, reference: str) -> EmailMessage | None:
    """The mail as it was first sent; None when none was made, and once the mail server has taken it."""
    row = connection.execute(select(MAILS.c.message).where(MAILS.c.reference == reference)).first()
    if row is None or row.message is None:
        return None
    return message_from_bytes(bytes(row.message), policy=SMTP)


def drop_message(connection: Connection, reference: str) -> None:
    """The mail was surely not taken: the next one is made anew."""
    connection.execute(update(MAILS).where(MAILS.c.reference == reference).values(message=None))


def accepted(connection: Connection, reference: str, now: datetime) -> None:
    """The mail server has taken it; what was in it is not kept."""
    connection.execute(update(MAILS).where(MAILS.c.reference == reference).values(message=None, accepted_at=now))


def drop_unused(connection: Connection) -> None:
    """Remove mails that no act goes with any more."""
    used = select(AUDIT.c.mail).where(AUDIT.c.mail.is_not(None))
    connection.execute(delete(MAILS).where(MAILS.c.reference.not_in(used)))
