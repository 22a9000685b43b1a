"""What an enforcer left open that was stopped between an act and its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from data.errors import SourceError
from data.model import Job
from data.slurm.job_states import TERMINAL_STATES
from policy.enforcer.looking import Look
from policy.enforcer.passing import Passing
from policy.enforcer.report import Fate
from policy.ladder import Episode, EpisodeKey
from policy.model import Attempt
from policy.store.audit import AuditRow, Outcome, settle, supersede_cancellations
from settings import StepAction

_CANCELLED = "CANCELLED"


def settle_cancellations(passing: Passing, rows: Iterable[AuditRow], look: Look) -> tuple[AuditRow, ...]:
    """Find out by the job's state which cancellations were done; the rows that stay open. Those of jobs that still run
    are among them: the act is due again, or its episode is over. Of several that were tried the last one did it."""
    still: list[AuditRow] = []
    ended: set[Attempt] = set()
    for row in reversed(list(rows)):
        if row.act.key[0] in ended and row.act.action is StepAction.CANCEL:
            continue
        if _is_settled(passing, row, look):
            ended.add(row.act.key[0])
        else:
            still.append(row)
    return tuple(reversed(still))


def _is_settled(passing: Passing, row: AuditRow, look: Look) -> bool:
    if row.act.action is not StepAction.CANCEL:
        return False
    try:
        job = _known(passing, row.act.key[0], row.act.job, look)
    except SourceError as err:
        passing.noted.fault(f"whether {row.act.job.display_id} was cancelled is not known yet: {err}")
        return False
    if job is not None and job.state not in TERMINAL_STATES:
        return False
    _settle(passing, row, job, is_again=job is None and _is_again(row.act.key[0], look))
    return True


def _is_again(attempt: Attempt, look: Look) -> bool:
    """Whether the job, or another one with its id, is there as another attempt; a requeue changes the submit time."""
    return any(other[:2] == attempt[:2] for other in look.jobs)


def _known(passing: Passing, attempt: Attempt, job: Job, look: Look) -> Job | None:
    return look.jobs.get(attempt) or passing.looking.known(job)


def _settle(passing: Passing, row: AuditRow, job: Job | None, *, is_again: bool) -> None:
    """A job that is gone without a trace counts as cancelled: its user must be told. Of one that is there again nobody
    knows how its earlier attempt ended."""
    if is_again:
        outcome, fate, why = Outcome.UNKNOWN, Fate.UNKNOWN, "it was started anew, and how it ended before is not known"
    elif job is None or job.state == _CANCELLED:
        outcome, fate = Outcome.DONE, Fate.DONE
        why = "settled by its state: CANCELLED" if job is not None else "settled later: the job is gone"
    else:
        outcome, fate, why = Outcome.WITHHELD, Fate.WITHHELD, f"it ended by itself: {job.state}"
    with passing.store.connection() as connection:
        now = passing.looking.now()
        settle(connection, row.id, outcome, now, why)
        supersede_cancellations(connection, row.act.key[0], row.id, now)
    passing.noted.note([row.act], fate, why, is_earlier=True)


def settle_past(passing: Passing, rows: Iterable[AuditRow], look: Look, episodes: Mapping[EpisodeKey, Episode]) -> None:
    """Close what is open of steps that no longer come: the job is not low any more, or the episode is another. A
    cancellation is closed here only if the job runs all the same."""
    now = passing.looking.now()
    for row in rows:
        if _may_come_again(row, episodes):
            continue
        if row.act.action is StepAction.CANCEL:
            job = look.jobs.get(row.act.key[0])
            if job is None or not job.is_running:
                continue
            outcome, fate, why = Outcome.REFUSED, Fate.REFUSED, "it was not done: the job was still there afterwards"
        else:
            outcome, fate, why = Outcome.UNKNOWN, Fate.UNKNOWN, "the mail may have been sent, and is not sent again"
        with passing.store.connection() as connection:
            settle(connection, row.id, outcome, now, why)
        passing.noted.note([row.act], fate, why, is_earlier=True)


def _may_come_again(row: AuditRow, episodes: Mapping[EpisodeKey, Episode]) -> bool:
    attempt, rule, number, step = row.act.key
    episode = episodes.get((attempt, rule))
    return episode is not None and episode.is_open and episode.number == number and len(episode.taken) == step - 1
