"""The audit: one row per act, written before it as what is intended, and settled after it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, or_, select, update

from data.enforcement.tables import AUDIT, MAILS
from data.model import Job, Tres
from data.state.store import StateStore
from policy.decide import Act, ActKey
from policy.model import Attempt, Status, Verdict
from policy.store.ladders import attempt_of_row, attempt_values, is_attempt
from settings import RuleKind, RuleMode, StepAction


class Outcome(StrEnum):
    """How an act ended. A row without one is of an act that was under way when the enforcer stopped."""

    DONE = "done"
    WITHHELD = "withheld"  # the last look spoke against it
    REFUSED = "refused"  # Slurm or the mail server did not do it
    UNKNOWN = "unknown"  # it may have been done: a mail, which is then sent again under the same Message-ID


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One act. `act` holds the job and the verdict as they were when it was decided. `outcome` None = under way;
    `mail` is the reference of the mail that goes with it, `told_at` when the mail server took that."""

    id: int
    intended_at: datetime
    act: Act
    outcome: Outcome | None = None
    why: str = ""
    settled_at: datetime | None = None
    mail: str | None = None
    told_at: datetime | None = None

    @property
    def is_cancelled(self) -> bool:
        return self.act.action is StepAction.CANCEL and self.outcome is Outcome.DONE


def intend(connection: Connection, act: Act, now: datetime) -> int:
    """Write down what is about to be done; the row's id."""
    job, attempt = act.job, act.key[0]
    values = {
        **attempt_values(attempt),
        "intended_at": now,
        "display_id": job.display_id,
        "user": job.user or "",
        "account": job.account,
        "partition": job.partition,
        "gpus": job.allocated.gpus,
        "rule": act.rule,
        "number": act.number,
        "step": act.step,
        "action": act.action.value,
        "low_since": act.low_since,
        "cancel_id": act.cancel_id,
        "sentence": act.verdict.sentence,
        "evidence": _text(act),
        "why": "",
    }
    made = connection.execute(insert(AUDIT).values(values)).inserted_primary_key
    return int(made[0]) if made else 0


def settle(connection: Connection, row_id: int, outcome: Outcome, now: datetime, why: str = "") -> None:
    """Write down how it ended; what is settled stays."""
    connection.execute(
        update(AUDIT)
        .where(AUDIT.c.id == row_id, AUDIT.c.outcome.is_(None))
        .values(outcome=outcome.value, why=why[:1000], settled_at=now)
    )


def supersede(connection: Connection, key: ActKey, now: datetime, why: str) -> bool:
    """Settle what is open of an act as not known, because it is done again; whether there was any."""
    changed = connection.execute(
        update(AUDIT)
        .where(_is_act(key), AUDIT.c.outcome.is_(None))
        .values(outcome=Outcome.UNKNOWN.value, why=why, settled_at=now)
    )
    return bool(changed.rowcount)


def supersede_cancellations(connection: Connection, attempt: Attempt, row_id: int, now: datetime) -> None:
    """Settle what is open of other cancellations of an attempt: the one in this row has ended it."""
    is_other = and_(AUDIT.c.action == StepAction.CANCEL.value, AUDIT.c.outcome.is_(None), AUDIT.c.id != row_id)
    connection.execute(
        update(AUDIT)
        .where(is_attempt(AUDIT, attempt), is_other)
        .values(outcome=Outcome.UNKNOWN.value, why=f"another act (row {row_id}) has ended the job", settled_at=now)
    )


def note(connection: Connection, row_id: int, why: str) -> None:
    """Say why a row is not settled yet."""
    connection.execute(update(AUDIT).where(AUDIT.c.id == row_id).values(why=why[:1000]))


def set_mail(connection: Connection, row_ids: Sequence[int], reference: str) -> None:
    """Write down which mail tells of these acts."""
    connection.execute(update(AUDIT).where(AUDIT.c.id.in_(row_ids)).values(mail=reference))


def detach_others(connection: Connection, reference: str, keys: Iterable[ActKey]) -> None:
    """The mail is made anew about these acts alone: the others were perhaps never seen under its Message-ID, and their
    next mail must have one of its own."""
    kept = select(AUDIT.c.id).where(or_(*(_is_act(key) for key in keys)))
    connection.execute(update(AUDIT).where(AUDIT.c.mail == reference, AUDIT.c.id.not_in(kept)).values(mail=None))


def audit_rows(
    store: StateStore, cluster: str, since: datetime, until: datetime | None = None, *, users: Sequence[str] = ()
) -> tuple[AuditRow, ...]:
    """Acts intended in [since, until), of these users or of all, the newest first. Raises SourceUnreachable."""
    wanted = [AUDIT.c.intended_at >= since]
    if until is not None:
        wanted.append(AUDIT.c.intended_at < until)
    if users:
        wanted.append(AUDIT.c.user.in_(users))
    with store.connection() as connection:
        return rows_where(connection, cluster, and_(*wanted))[::-1]


def open_rows(connection: Connection, cluster: str) -> tuple[AuditRow, ...]:
    """Acts that were under way when the enforcer stopped, or of which it is not known whether they were done."""
    return rows_where(connection, cluster, AUDIT.c.outcome.is_(None))


def cancelled_since(connection: Connection, cluster: str, since: datetime) -> tuple[AuditRow, ...]:
    """Cancellations done since, and those that may have been."""
    is_done = AUDIT.c.outcome.is_(None) | (AUDIT.c.outcome == Outcome.DONE.value)
    is_cancel = AUDIT.c.action == StepAction.CANCEL.value
    return rows_where(connection, cluster, and_(is_cancel, is_done, AUDIT.c.intended_at > since))


def untold_cancellations(connection: Connection, cluster: str, since: datetime) -> tuple[AuditRow, ...]:
    """Cancellations that were done since and of which the mail server has not taken the mail."""
    is_cancel = and_(AUDIT.c.action == StepAction.CANCEL.value, AUDIT.c.outcome == Outcome.DONE.value)
    return rows_where(connection, cluster, and_(is_cancel, AUDIT.c.intended_at > since, MAILS.c.accepted_at.is_(None)))


def mail_of(connection: Connection, key: ActKey) -> str | None:
    """The reference of a mail with this act in it that may have been sent, and of which nobody knows whether it was."""
    query = (
        select(AUDIT.c.mail)
        .join(MAILS, MAILS.c.reference == AUDIT.c.mail)
        .where(_is_act(key), MAILS.c.message.is_not(None), MAILS.c.accepted_at.is_(None))
        .order_by(AUDIT.c.id.desc())
    )
    row = connection.execute(query).first()
    return None if row is None else row.mail


def forget_before(connection: Connection, before: datetime) -> int:
    """Remove settled rows and mails from before; how many acts those were."""
    gone = connection.execute(delete(AUDIT).where(AUDIT.c.intended_at < before, AUDIT.c.outcome.is_not(None)))
    kept = select(AUDIT.c.mail).where(AUDIT.c.mail.is_not(None))
    connection.execute(delete(MAILS).where(MAILS.c.planned_at < before, MAILS.c.reference.not_in(kept)))
    return int(gone.rowcount)


def rows_where(connection: Connection, cluster: str, wanted: ColumnElement[bool]) -> tuple[AuditRow, ...]:
    """The oldest first."""
    query = (
        select(AUDIT, MAILS.c.accepted_at)
        .outerjoin(MAILS, MAILS.c.reference == AUDIT.c.mail)
        .where(AUDIT.c.cluster == cluster, wanted)
        .order_by(AUDIT.c.id)
    )
    return tuple(_row(row) for row in connection.execute(query))


def _is_act(key: ActKey) -> ColumnElement[bool]:
    attempt, rule, number, step = key
    columns = AUDIT.c
    same = (columns.rule == rule, columns.number == number, columns.step == step)
    return and_(is_attempt(AUDIT, attempt), *same)


def _row(row: Row[Any]) -> AuditRow:
    outcome = None if row.outcome is None else Outcome(row.outcome)
    try:
        act = _act(row.evidence)
    except ValueError:  # of a version whose evidence had another form, or damaged
        act = _act_of_columns(row)
    if act.key[0] != attempt_of_row(row):
        act = _act_of_columns(row)
    return AuditRow(row.id, row.intended_at, act, outcome, row.why, row.settled_at, row.mail, row.accepted_at)


def _act_of_columns(row: Row[Any]) -> Act:
    """The act without its evidence: enough to settle it, and to tell its user."""
    cluster, job_id, submit, start, restarts = attempt_of_row(row)
    job = Job(
        cluster,
        job_id,
        row.display_id,
        "UNKNOWN",
        user=row.user or None,
        account=row.account,
        partition=row.partition,
        submit_time=submit,
        start_time=start,
        restart_count=restarts,
        allocated=Tres(gpus=row.gpus),
    )
    kind = RuleKind.MEAN  # it is not known, and a mean that is not known says nothing
    verdict = Verdict(row.rule, kind, RuleMode.ACT, Status.LOW, sentence=row.sentence, devices_allocated=row.gpus)
    action = StepAction(row.action)
    return Act(job, verdict, row.rule, row.number, row.step, action, row.low_since, row.cancel_id)


@cache
def _acts() -> TypeAdapter[Act]:
    return TypeAdapter(Act)


def _text(act: Act) -> str:
    """Without what says more of a person than the act needs."""
    job = replace(act.job, comment=None, admin_comment=None, command=None, working_directory=None)
    return json.dumps(_acts().dump_python(replace(act, job=job), mode="python"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def _act(text: str) -> Act:
    return _acts().validate_python(json.loads(text))
