"""A person's or a group's month on one page: hours, efficiency, place among peers, and what to change first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from data.findings.advice import Advice, advice
from data.model import Viewer
from data.queries.history.charts import trend_of
from data.queries.history.groups import Group
from data.queries.history.model import FindingRow, HistoryFilter, ReportQuery, ReportRow, Standing, Trend
from data.queries.history.people import NO_STANDING, findings_of, kept, not_found, standing_of
from data.queries.history.question import Question, ask
from data.queries.history.reports import report, report_of
from data.sources import Sources

CHANGES = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change: what was found, what it cost, the jobs that show it; `advice` None = the job's page says."""

    finding: FindingRow
    advice: Advice | None


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
    members: tuple[ReportRow, ...] = ()
    currency: str = ""


def digest_names(viewer: Viewer, sources: Sources, query: ReportQuery) -> tuple[str, ...]:
    """The users or accounts with jobs in the range of whom a digest can be written. Raises as `report`."""
    found = report(viewer, sources, replace(query, limit=None, compare=False, columns=("jobs",)))
    return tuple(row.key for row in found.rows if row.key)


def digest(viewer: Viewer, sources: Sources, name: str, query: ReportQuery) -> Digest:
    """Answer with the digest of a user or (query by account) an account. Raises NotFound, and as `report`."""
    names = frozenset({name})
    own = HistoryFilter(users=names) if query.by is Group.USER else HistoryFilter(accounts=names)
    asked = replace(query, filter=own, limit=None, compare=False)
    known = advice(sources.settings.findings)
    return ask(viewer, sources, asked, lambda question: _digest(question, name, query.by, known))


def _digest(asked: Question, name: str, by: Group, known: dict[str, Advice]) -> Digest:
    question = kept(asked)
    users = report_of(question.asking(by=Group.USER))
    if not users.rows:
        raise not_found(name)
    found = findings_of(question, CHANGES)
    measured = users.total.hours.measured
    return Digest(
        name=name,
        by=by,
        query=asked.query,
        total=users.total,
        trend=trend_of(asked.asking(by=Group.DAY), "day"),
        standing=standing_of(asked.asking(by=by), name) if measured else NO_STANDING,
        changes=tuple(Change(row, known.get(row.id)) for row in found),
        members=users.rows if by is Group.ACCOUNT else (),
        currency=users.currency,
    )
