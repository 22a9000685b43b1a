"""Warnings: a step is taken when the mail server has taken its mail, and not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.message import EmailMessage

from data.errors import SettingsError
from data.words import count
from policy.actions.outcome import Refused, Unsettled
from policy.decide import Act, ActKey
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_COMMIT, Passing
from policy.enforcer.report import Fate
from policy.notices import followings
from policy.store.audit import Outcome, detach_others, mail_of, note, set_mail, settle
from policy.store.mails import accepted, drop_message, keep_mail, kept_message, reference_of


def warn(passing: Passing, acts: Sequence[Act]) -> None:
    """Tell one user of one rule's step. Raises FullwarpError where nothing more can be done in this pass."""
    why = passing.why_not()
    if why:
        return passing.noted.note(acts, Fate.WITHHELD, why)
    rows = passing.intend(acts)
    checked = passing.last_look_at_warnings(acts, rows)
    for act in acts:
        if checked[act.key].why:
            passing.end([act], rows, Outcome.WITHHELD, checked[act.key].why)
    acts = [act for act in acts if checked[act.key].may_act]
    why = passing.why_not()
    if why:
        return passing.end(acts, rows, Outcome.WITHHELD, why)
    for reference, part in _by_mail(passing, acts).items():
        _send(passing, reference, part, rows)
    return None


def _by_mail(passing: Passing, acts: Sequence[Act]) -> dict[str, list[Act]]:
    """Acts by the reference of their mail: of one that may have been sent with them in it, or of a new one.

    An act that was not in a mail never goes under its Message-ID: who had that mail would not be shown it again.
    """
    with passing.store.connection() as connection:
        known = {act.key: mail_of(connection, act.key) for act in acts}
    fresh = [act for act in acts if known[act.key] is None]
    found: dict[str, list[Act]] = {reference_of(fresh): fresh} if fresh else {}
    for act in acts:
        reference = known[act.key]
        if reference is not None:
            found.setdefault(reference, []).append(act)
    return found


def _send(passing: Passing, reference: str, acts: list[Act], rows: Mapping[ActKey, int]) -> None:
    with passing.store.connection() as connection:
        earlier = kept_message(connection, reference)
    try:
        passing.outward.send(_message(passing, reference, acts, rows, earlier))
    except (Refused, SettingsError) as err:
        if earlier is None:
            with passing.store.connection() as connection:
                drop_message(connection, reference)
        passing.end(acts, rows, Outcome.REFUSED, str(err))
        user, jobs = acts[0].job.user or "", count(len(acts), "job")
        return passing.noted.alarm(f"warn {user}", f"{user} could not be warned of {jobs}: {err}")
    except Unsettled as err:
        with passing.store.connection() as connection:
            for act in acts:
                note(connection, rows[act.key], str(err))
        return passing.noted.note(acts, Fate.UNKNOWN, str(err))
    passing.reached(AFTER_ACCEPT)
    now = passing.looking.now()
    with passing.store.connection() as connection:
        accepted(connection, reference, now)
        for act in acts:
            settle(connection, rows[act.key], Outcome.DONE, now)
            passing.take(connection, act, now)
    passing.reached(AFTER_COMMIT)
    return passing.noted.note(acts, Fate.DONE)


def _message(
    passing: Passing,
    reference: str,
    acts: Sequence[Act],
    rows: Mapping[ActKey, int],
    earlier: EmailMessage | None,
) -> EmailMessage:
    """The mail, written down before it is sent. With fewer jobs than the earlier one it is made anew, under the same
    Message-ID."""
    now = passing.looking.now()
    message = earlier
    if message is None or reference != reference_of(acts):
        after = followings(acts, passing.episodes, passing.acting_since, passing.settings, now)
        message = passing.outward.notice(acts, reference, now, after)
    with passing.store.connection() as connection:
        keep_mail(connection, reference, acts[0], message, now)
        set_mail(connection, [rows[act.key] for act in acts], reference)
        detach_others(connection, reference, [act.key for act in acts])
    return message
