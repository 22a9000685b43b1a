"""A person's or a group's month on one page: hours, efficiency, place among peers, and what to change first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from data.efficiency.hours import GpuHours
from data.findings.advice import Advice, advice
from data.model import Viewer
from data.queries.history.charts import trends_by_key
from data.queries.history.found import findings_by_key
from data.queries.history.grouping import NO_NAME, Sums, add, keys_of, raw_group
from data.queries.history.groups import Group
from data.queries.history.measures import HOUR_NAMES
from data.queries.history.model import FindingRow, HistoryFilter, ReportQuery, ReportRow, Standing, Trend
from data.queries.history.peers import NO_STANDING, Peers
from data.queries.history.people import EXAMPLES, everybody, kept
from data.queries.history.question import Question, ask
from data.queries.history.summing import summed
from data.queries.history.values import hours_of_sums, values_of
from data.sources import Sources

Table = Any
CHANGES = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change: what was found, what it cost, the jobs that show it; `advice` None = the job's page says."""

    finding: FindingRow
    advice: Advice | None


@dataclass(frozen=True, slots=True)
class Member:
    """A user of an account, with what they used of it."""

    name: str
    hours: GpuHours


@dataclass(frozen=True, slots=True)
class Digest:
    """`by` is user or account. `members` are an account's users, those with most GPU-hours first."""

    name: str
    by: Group
    query: ReportQuery
    total: ReportRow
    trend: Trend
    standing: Standing
    changes: tuple[Change, ...]
    members: tuple[Member, ...] = ()
    currency: str = ""


@dataclass(frozen=True)
class _Parts:
    """What the digests are made of, by name: asked once for all of them."""

    question: Question
    totals: Mapping[str, Sums]
    trend: Callable[[str | None], Trend]
    findings: Mapping[str | None, tuple[FindingRow, ...]]
    members: Mapping[str | None, Mapping[str | None, Sums]]
    peers: Peers
    advice: Mapping[str, Advice]


def digests(viewer: Viewer, sources: Sources, query: ReportQuery) -> tuple[Digest, ...]:
    """Answer with the digest of each user or (query by account) account that has jobs in the range which fit the
    filter, those with most GPU-hours first. The filter and the level choose of whom; a digest is of all that they ran,
    as far as the viewer may see it. Raises as `report`."""
    known = advice(sources.settings.findings)
    return ask(viewer, sources, replace(query, limit=None, compare=False), lambda question: _digests(question, known))


def _digests(asked: Question, known: Mapping[str, Advice]) -> tuple[Digest, ...]:
    by = asked.query.by
    whole = asked.asking(filter=HistoryFilter(), account_level=None)
    question = kept(whole).asking(by=by)
    parts = _Parts(
        question=question,
        totals=_by_key(question),
        trend=trends_by_key(whole, "day"),
        findings=findings_by_key(question, CHANGES, EXAMPLES),
        members=_members(question) if by is Group.ACCOUNT else {},
        peers=everybody(whole),
        advice=known,
    )
    chosen = _by_key(asked.asking(columns=()))
    return tuple(_digest(parts, name) for name in sorted(chosen, key=lambda name: _most_first(chosen[name], name)))


def _digest(parts: _Parts, name: str) -> Digest:
    query, sums = parts.question.query, parts.totals[name]
    hours = hours_of_sums(sums)
    members = [Member(user or NO_NAME, hours_of_sums(own)) for user, own in parts.members.get(name, {}).items()]
    found = parts.findings.get(name, ())
    return Digest(
        name=name,
        by=query.by,
        query=query,
        total=ReportRow(None, "All", values_of(sums, columns=query.columns)),
        trend=parts.trend(name),
        standing=parts.peers.standing(name) if hours.measured else NO_STANDING,
        changes=tuple(Change(row, parts.advice.get(row.id)) for row in found),
        members=tuple(sorted(members, key=lambda one: (-one.hours.allocated, one.name))),
        currency=parts.question.currency,
    )


def _by_key(question: Question) -> dict[str, Sums]:
    """The sums of each user or account; an account that is in several places of the tree has those of all."""
    found: defaultdict[str, Sums] = defaultdict(dict)
    for place, sums in summed(question).rows.items():
        for measure, value in sums.items():
            if place.key:
                add(found[place.key], measure, value)
    return found


def _most_first(sums: Sums, name: str) -> tuple[float, str]:
    return -(sums["gpu_hours_allocated"] or 0.0), name


def _members(question: Question) -> Mapping[str | None, Mapping[str | None, Sums]]:
    found: defaultdict[str | None, defaultdict[str | None, Sums]] = defaultdict(lambda: defaultdict(dict))
    for row in question.run("members", lambda: _by_member(question)):
        for key in keys_of(question, row):
            for measure in HOUR_NAMES:
                add(found[key][row["user"]], measure, row[measure])
    return found


def _by_member(question: Question) -> Table:
    parts = question.parts()
    sums = {name: parts[name].sum() for name in HOUR_NAMES}
    return parts.group_by(**raw_group(question.query.by, parts), user=parts.user).agg(**sums)
