"""Cancellations, one at a time, each after its own last look; and the mail that says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial

from data.errors import SettingsError
from policy.actions.outcome import Refused, Unsettled
from policy.decide import Act, cancel_id
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_CANCEL, AFTER_COMMIT, Passing
from policy.enforcer.report import Fate
from policy.notices import groups_of
from policy.store.audit import AuditRow, Outcome, note, set_mail, settle, supersede_cancellations, untold_cancellations
from policy.store.mails import accepted, keep_mail, kept_message, reference_of

TOLD_WITHIN = timedelta(days=7)


def cancel(passing: Passing, act: Act) -> None:
    """Cancel one job. Raises FullwarpError where nothing more can be done in this pass."""
    why = passing.why_not()
    if why:
        return passing.noted.note([act], Fate.WITHHELD, why)
    user, job = act.job.user or "", act.job.display_id
    try:
        passing.outward.address(user)
    except Refused as err:
        passing.noted.alarm(f"address {user}", f"{job} of {user} is not cancelled, for nobody could be told: {err}")
        return passing.noted.note([act], Fate.WITHHELD, str(err))
    rows = passing.intend([act])
    checked = passing.last_look([act], rows)[act.key]
    fresh = checked.job
    if act.key in passing.tried_before and (fresh is None or not fresh.is_running):
        return _leave_open(passing, act, rows[act.key], "it ends: the next pass finds out how")
    if checked.why or fresh is None or act.cancel_id is None or cancel_id(fresh) != act.cancel_id:
        return passing.end([act], rows, Outcome.WITHHELD, checked.why or "it cannot be told what to cancel")
    comment(passing, act)
    why = passing.why_not()
    if why:
        return passing.end([act], rows, Outcome.WITHHELD, why)
    try:
        passing.outward.cancel(fresh, act.cancel_id)
    except Refused as err:
        passing.noted.alarm(f"cancel {act.key}"[:200], f"{job} of {user} could not be cancelled: {err}")
        return passing.end([act], rows, Outcome.REFUSED, str(err))
    except Unsettled as err:
        return _leave_open(passing, act, rows[act.key], str(err))
    passing.reached(AFTER_CANCEL)
    now = passing.looking.now()
    with passing.store.connection() as connection:
        settle(connection, rows[act.key], Outcome.DONE, now)
        supersede_cancellations(connection, act.key[0], rows[act.key], now)
        passing.take(connection, act, now)
    passing.reached(AFTER_COMMIT)
    return passing.noted.note([act], Fate.DONE)


def _leave_open(passing: Passing, act: Act, row: int, why: str) -> None:
    """It may have been done: a later pass reads it from the job's state."""
    with passing.store.connection() as connection:
        note(connection, row, why)
    passing.noted.note([act], Fate.UNKNOWN, why)


def owes_mail(passing: Passing) -> bool:
    """Whether there are cancellations of which nobody was told yet."""
    return bool(_owed(passing))


def _owed(passing: Passing) -> tuple[AuditRow, ...]:
    since = passing.looking.now() - TOLD_WITHIN
    with passing.store.connection() as connection:
        return untold_cancellations(connection, passing.cluster, since)


def comment(passing: Passing, act: Act) -> None:
    """Note the step in the job's comment, where the site wants that. Of a cancellation before it: what ends a job
    writes its own summary there."""
    try:
        passing.outward.comment(act, passing.looking.now())
    except Refused as err:
        passing.noted.alarm("comment", f"the comment of {act.job.display_id} could not be written: {err}")


def tell_cancelled(passing: Passing) -> None:
    """Send the mails about cancellations that were done, of this pass or of earlier ones."""
    for reference, part in _by_mail(passing, _owed(passing)):
        if passing.why_not():
            return
        passing.guard([row.act for row in part], partial(_tell, passing, reference, part))


def _by_mail(passing: Passing, rows: Sequence[AuditRow]) -> Iterator[tuple[str, list[AuditRow]]]:
    """Those of a mail that may have been sent together under its reference, all others by user, rule and step."""
    with passing.store.connection() as connection:
        sent = {row.mail for row in rows if row.mail and kept_message(connection, row.mail) is not None}
    for reference in sorted(name for name in sent if name):
        yield reference, [row for row in rows if row.mail == reference]
    fresh = {row.act.key: row for row in rows if row.mail not in sent}
    for acts in groups_of([row.act for row in fresh.values()]):
        yield reference_of(acts), [fresh[act.key] for act in acts]


def _tell(passing: Passing, reference: str, rows: Sequence[AuditRow]) -> None:
    acts = [row.act for row in rows]
    now = passing.looking.now()
    with passing.store.connection() as connection:
        message = kept_message(connection, reference)
    try:
        if message is None:
            message = passing.outward.notice(acts, reference, now, {})
            with passing.store.connection() as connection:
                keep_mail(connection, reference, acts[0], message, now)
                set_mail(connection, [row.id for row in rows], reference)
        passing.outward.send(message)
    except (Refused, Unsettled, SettingsError) as err:
        user = acts[0].job.user or ""
        jobs = _named(acts)
        return passing.noted.alarm(f"told {user} {reference}", f"{user} is not told yet that {jobs} ended: {err}")
    passing.reached(AFTER_ACCEPT)
    with passing.store.connection() as connection:
        accepted(connection, reference, passing.looking.now())
    passing.reached(AFTER_COMMIT)
    return None


def _named(acts: Iterable[Act]) -> str:
    return ", ".join(act.job.display_id for act in acts)
