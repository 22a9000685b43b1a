"""One pass, from the look to the last word to staff."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from zoneinfo import ZoneInfo

from data.errors import FullwarpError, SourceUnreachable
from data.sources import Sources
from data.state.store import StateStore
from policy.actions.outcome import Refused
from policy.decide import HOUR, Act, Cancelled, Decision, Situation, decide
from policy.enforcer.cancelling import TOLD_WITHIN, cancel, comment, owes_mail, tell_cancelled
from policy.enforcer.last_pass import note_pass
from policy.enforcer.looking import Look, Looking
from policy.enforcer.passing import Passing
from policy.enforcer.report import Fate, Noted, PassReport
from policy.enforcer.settling import settle_cancellations, settle_past
from policy.enforcer.stop import why_stopped
from policy.enforcer.warning import warn
from policy.ladder import Ladders, of_these_rules
from policy.notices import groups_of
from policy.rules import rules_of
from policy.standing import standing
from policy.store.audit import AuditRow, cancelled_since, forget_before, open_rows
from policy.store.ladders import keep_acting_since, keep_episodes, ladders_of
from policy.store.mails import drop_old_messages
from policy.store.told import forget_told, tell, told_at
from settings import Settings, StepAction

ALARM, ALARM_AGAIN = "alarm", timedelta(hours=6)
_TOLD_KEPT = timedelta(days=400)


def dry_pass(sources: Sources, looking: Looking, because: str) -> PassReport:
    """What a pass would do now. Nothing is done and nothing is written. Raises SourceError, SettingsError."""
    settings, look, noted = sources.settings, looking.look(), Noted()
    ladders, state = standing(sources, look.cluster, look.verdicts.verdicts, look.time)
    if state is not None:
        noted.fault(f"where the ladders stand is not known: {state.error}")
    decision = _decide(settings, look, ladders, _recent(sources, look))
    noted.note(decision.acts, Fate.WOULD)
    _note_decision(settings, look, decision, noted)
    return _report(look, noted, because)


def _recent(sources: Sources, look: Look) -> tuple[AuditRow, ...]:
    def recent(store: StateStore) -> tuple[AuditRow, ...]:
        with store.connection() as connection:
            return cancelled_since(connection, look.cluster, look.time - HOUR)

    return sources.enforcement.read(sources.settings.enforcement, recent) or ()


def enforce(passing: Passing) -> PassReport:
    """Look, decide and act. Raises FullwarpError where not even the first look can be had; what fails later is in the
    report's `faults`."""
    look = passing.looking.look()
    passing.cluster = look.cluster
    decision = _prepare(passing, look)
    _note_decision(passing.settings, look, decision, passing.noted)
    _act(passing, decision)
    _note_in_passing(passing, decision)
    _tell_staff(passing)
    _end(passing)
    return _report(look, passing.noted)


def _prepare(passing: Passing, look: Look) -> Decision:
    """Settle what was left open, decide, and write the episodes down."""
    with passing.store.connection() as connection:
        left = open_rows(connection, look.cluster)
    left = settle_cancellations(passing, left, look)
    rules = rules_of(passing.settings.policy)
    forms = {rule.name: rule.form for rule in rules if rule.acts}
    with passing.store.connection() as connection:
        known = ladders_of(connection, look.cluster)
        ladders = of_these_rules(known, rules, look.time)
        if ladders is not known:  # with the new form, or the old steps would count for it after a crash
            keep_episodes(connection, look.cluster, ladders.episodes.values())
        if not look.verdicts.fault:  # else the clock may be wrong, and a rule would seem to act for long
            keep_acting_since(connection, look.cluster, forms, look.time)
        recent = cancelled_since(connection, look.cluster, look.time - HOUR)
    decision = _decide(passing.settings, look, ladders, recent)
    passing.episodes, passing.acting_since = dict(decision.episodes), ladders.acting_since
    with passing.store.connection() as connection:
        keep_episodes(connection, look.cluster, decision.episodes.values())
    settle_past(passing, left, look, decision.episodes)
    return decision


def _decide(settings: Settings, look: Look, ladders: Ladders, recent: Iterable[AuditRow]) -> Decision:
    policy = settings.policy
    situation = Situation(
        look.verdicts.verdicts,
        look.verdicts.running_gpu_jobs,
        ladders.episodes,
        ladders.acting_since,
        tuple(Cancelled(row.act.job.user or "", row.settled_at or row.intended_at) for row in recent),
        frozenset(look.jobs),
        bool(why_stopped(policy)),
    )
    return decide(situation, rules_of(policy), policy, ZoneInfo(settings.site_timezone), look.time)


def _note_decision(settings: Settings, look: Look, decision: Decision, noted: Noted) -> None:
    stopped = why_stopped(settings.policy)
    for one in decision.withheld:
        noted.note([one.act], Fate.WITHHELD, stopped or one.why)
    if look.verdicts.fault:
        detail = f" ({look.verdicts.detail})" if look.verdicts.detail else ""
        noted.fault(f"nothing is acted on: {look.verdicts.fault}{detail}")
    if stopped:
        noted.alarm("stopped", f"nothing is acted on: {stopped}")
    for text in decision.alarms:
        noted.alarm("caps", text)


def _act(passing: Passing, decision: Decision) -> None:
    """Warnings by user, rule and step, then cancellations; whatever stops the pass leaves the rest for the next."""
    todo = _todo(passing, decision)
    try:
        owes = owes_mail(passing)
        if todo or owes:
            _require_mail(passing)
        if owes:
            tell_cancelled(passing)
        while todo:
            acts, act = todo[0]
            passing.guard(acts, act)
            todo.pop(0)
            if todo and any(passing.noted.fate_of(one) is Fate.REFUSED for one in acts):
                _require_mail(passing)
        if any(passing.noted.fate_of(act) is Fate.DONE for act in decision.acts if act.action is StepAction.CANCEL):
            tell_cancelled(passing)
    except FullwarpError as err:
        passing.noted.fault(str(err))
        left = [one for acts, _ in todo for one in acts if passing.noted.fate_of(one) is None]
        passing.noted.note(left, Fate.WITHHELD, str(err))


def _todo(passing: Passing, decision: Decision) -> list[tuple[Sequence[Act], Callable[[], None]]]:
    warnings = groups_of([act for act in decision.acts if act.action is StepAction.WARN])
    passing.warnings = [act for acts in warnings for act in acts]
    cancels = [act for act in decision.acts if act.action is StepAction.CANCEL]
    return [
        *((acts, partial(warn, passing, acts)) for acts in warnings),
        *(((act,), partial(cancel, passing, act)) for act in cancels),
    ]


def _require_mail(passing: Passing) -> None:
    """Raise SourceUnreachable where the mail server takes nothing: no step is taken of which nobody can be told."""
    try:
        passing.outward.check_mail()
    except Refused as err:
        raise SourceUnreachable(f"no step is taken while no mail can be sent: {err}") from err


def _tell_staff(passing: Passing) -> None:
    """Tell staff what they have not been told in the last hours."""
    now = passing.looking.now()
    with passing.store.connection() as connection:
        fresh = {
            key: text
            for key, text in passing.noted.alarms.items()
            if (last := told_at(connection, ALARM, key)) is None or abs(now - last) >= ALARM_AGAIN
        }
    if not fresh:
        return None
    reference = hashlib.sha256(f"{now} {sorted(fresh.items())}".encode()).hexdigest()[:40]
    try:
        passing.outward.tell_staff(tuple(fresh.values()), reference, now)
    except Refused as err:
        return passing.noted.fault(f"staff could not be told: {err}")
    with passing.store.connection() as connection:
        for key in fresh:
            tell(connection, ALARM, key, now)
    return None


def _note_in_passing(passing: Passing, decision: Decision) -> None:
    """What is good to have and stops nothing: the jobs' comments and a word in the site's chat."""
    done = [act for act in decision.acts if passing.noted.fate_of(act) is Fate.DONE]
    for act in done:
        if act.action is StepAction.WARN:
            comment(passing, act)
    if done:
        try:
            passing.outward.announce(done, passing.looking.now())
        except Refused as err:
            passing.noted.alarm("webhook", f"the webhook did not take what was done: {err}")


def _end(passing: Passing) -> None:
    """Forget what is old, and write down that the pass has come to its end."""
    days, now = passing.settings.enforcement.audit_days, passing.looking.now()
    with passing.store.connection() as connection:
        if days is not None:
            forget_before(connection, now - timedelta(days=days))
        drop_old_messages(connection, now - TOLD_WITHIN)
        forget_told(connection, now - _TOLD_KEPT)
        note_pass(connection, now)


def _report(look: Look, noted: Noted, because: str = "") -> PassReport:
    return PassReport(
        look.time,
        look.cluster,
        because,
        look.verdicts.running_gpu_jobs,
        look.verdicts.counts,
        tuple(noted.lines),
        tuple(noted.faults),
        tuple(noted.alarms.values()),
    )
