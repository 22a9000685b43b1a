"""Mails under way: kept whole until the mail server has taken them, so that the same one can be sent again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP

from sqlalchemy import Connection, insert, select, update

from data.enforcement.tables import MAILS
from policy.decide import Act


def reference_of(acts: Iterable[Act]) -> str:
    """What the Message-ID is made of: the attempts, rule, episodes and step, so that the same acts give the same."""
    keys = sorted(" ".join(map(str, (*act.key[0], *act.key[1:], act.action))) for act in acts)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:40]


def keep_mail(connection: Connection, reference: str, act: Act, message: EmailMessage, now: datetime) -> None:
    """Write the mail down; from here on it may have been sent. `act` is one of those that it is about."""
    content = message.as_bytes(policy=SMTP)
    changed = connection.execute(update(MAILS).where(MAILS.c.reference == reference).values(message=content))
    if not changed.rowcount:
        about = {"user": act.job.user or "", "rule": act.rule, "step": act.step}
        connection.execute(insert(MAILS).values(reference=reference, planned_at=now, message=content, **about))


def kept_message(connection: Connection, reference: str) -> EmailMessage | None:
    """The mail as it was first sent; None when none was made, and once the mail server has taken it."""
    row = connection.execute(select(MAILS.c.message).where(MAILS.c.reference == reference)).first()
    if row is None or row.message is None:
        return None
    return message_from_bytes(bytes(row.message), policy=SMTP)


def drop_message(connection: Connection, reference: str) -> None:
    """The mail was surely not taken: the next one is made anew."""
    connection.execute(update(MAILS).where(MAILS.c.reference == reference).values(message=None))


def drop_old_messages(connection: Connection, before: datetime) -> None:
    """What was in mails from before is not kept; they are not sent again."""
    connection.execute(update(MAILS).where(MAILS.c.planned_at < before).values(message=None))


def accepted(connection: Connection, reference: str, now: datetime) -> None:
    """The mail server has taken it; what was in it is not kept."""
    connection.execute(update(MAILS).where(MAILS.c.reference == reference).values(message=None, accepted_at=now))
