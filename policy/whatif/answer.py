"""All parts of the past put together: what one rule, and what the limits at submission would have done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from configuration.submission import SubmissionSettings
from policy.rules import Exemption, Rule
from policy.submission import Excess, Request, refused
from policy.whatif.climb import Ways
from policy.whatif.model import Amount, Apart, Outcome, WhatIf
from policy.whatif.replay import Hit, Past, Sorted, replay, sort_out
from policy.whatif.summing import alarms_of, amount_of, outcome_of, users_of
from policy.whatif.timelines import APART, PastJob, cannot_replay, notes_of
from policy.whatif.variants import curve_of


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the past that ended in [since, until). `exemptions` are those that count `now`."""

    since: datetime
    until: datetime
    ways: Ways
    now: datetime
    exemptions: tuple[Exemption, ...] = ()
    has_curve: bool = False


@dataclass(frozen=True, slots=True)
class RefusedJobs:
    """GPU jobs of the past that the limits of `submission` would have refused, by what they were given: `by_limit`
    counts a job under each limit that it breaks. `unknown` are jobs whose GPU count is not known."""

    looked_at: Amount
    refused: Amount
    by_limit: Mapping[Excess, Amount]
    unknown: int
    notes: tuple[str, ...] = ()


def what_if(rule: Rule, parts: Sequence[Past], asked: Asked) -> WhatIf:
    """Replay a rule over the past."""
    cannot = cannot_replay(rule)
    found = [sort_out(rule, part, asked.ways, asked.exemptions, asked.now) for part in parts]
    hits, late = ([], []) if cannot else _replayed(rule, parts, found, asked)
    unknown = {id(past) for past, _ in late}
    judged = [part.jobs[place] for part, one in zip(parts, found, strict=True) for place in one.judged]
    apart = [] if cannot else [*(each for one in found for each in one.apart), *late]
    share = asked.ways.policy.saved_share
    return WhatIf(
        rule.name,
        rule.kind,
        asked.since,
        asked.until,
        all_jobs=amount_of(past for part in parts for past in part.jobs),
        about=amount_of(past for one in found for past in one.about),
        exempt=amount_of(past for one in found for past in one.exempt),
        judged=amount_of(() if cannot else (past for past in judged if id(past) not in unknown)),
        apart=_apart(apart),
        outcome=outcome_of(rule, hits, share),
        saved_share=share,
        busy_from=asked.ways.busy_from,
        users_hit=users_of(hits, share),
        false_alarms=alarms_of(hits),
        curve=() if cannot or not asked.has_curve else _curve(rule, parts, found, asked),
        notes=() if cannot else notes_of(rule),
        cannot=cannot,
    )


def _replayed(
    rule: Rule, parts: Sequence[Past], found: Sequence[Sorted], asked: Asked
) -> tuple[list[Hit], list[tuple[PastJob, str]]]:
    hits: list[Hit] = []
    late: list[tuple[PastJob, str]] = []
    for part, one in zip(parts, found, strict=True):
        more, unknown = replay(rule, part, one.judged, asked.ways)
        hits += more
        late += unknown
    return hits, late


def _curve(rule: Rule, parts: Sequence[Past], found: Sequence[Sorted], asked: Asked) -> tuple[Outcome, ...]:
    share = asked.ways.policy.saved_share
    return tuple(outcome_of(form, _replayed(form, parts, found, asked)[0], share) for form in curve_of(rule))


def _apart(rows: Iterable[tuple[PastJob, str]]) -> tuple[Apart, ...]:
    by_reason: defaultdict[str, list[PastJob]] = defaultdict(list)
    for past, reason in rows:
        by_reason[reason].append(past)
    made = [Apart(reason, APART[reason], amount_of(jobs)) for reason, jobs in by_reason.items()]
    return tuple(sorted(made, key=lambda one: (-one.amount.jobs, one.reason)))


def refused_jobs(settings: SubmissionSettings, parts: Sequence[Past]) -> RefusedJobs:
    """Count the past jobs that the limits would have refused."""
    jobs = [past for part in parts for past in part.jobs]
    known = [past for past in jobs if past.gpus is not None]
    broken = [(past, refused(settings, _request(past))) for past in known]
    by_limit = {limit: amount_of(past for past, limits in broken if limit in limits) for limit in Excess}
    return RefusedJobs(
        amount_of(known),
        amount_of(past for past, limits in broken if limits),
        {limit: amount for limit, amount in by_limit.items() if amount.jobs},
        len(jobs) - len(known),
        NOTES,
    )


NOTES = (
    "Counted by what jobs were given, which is more than they asked for where whole nodes are given or cores are "
    "rounded up; each attempt counts, and each task of an array.",
    "Jobs without a known number of cores or amount of memory are not looked at for that limit.",
)


def _request(past: PastJob) -> Request:
    job = past.job
    given = job.allocated
    nodes = len(job.nodes) or None
    return Request(job.partition, past.gpus or 0, nodes, given.cpus, given.memory_bytes, job.user, job.account)
