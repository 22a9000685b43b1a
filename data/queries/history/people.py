"""What history says of one person or group: findings to act on, and the place among peers, who stay without names."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean, median
from typing import Any

from data.errors import BadRequest, NotFound
from data.model import Role, Viewer
from data.queries.history.charts import trend_of
from data.queries.history.groups import Group
from data.queries.history.measures import WAIT
from data.queries.history.model import (
    FindingRow,
    HistoryFilter,
    ReportQuery,
    ReportRow,
    Standing,
    UserHistory,
)
from data.queries.history.question import Question, ask
from data.queries.history.reports import report_of
from data.sources import Sources

# Fewer would let one read off another's numbers.
FEWEST_PEERS = 5
PEER_HOURS = 10.0
EXAMPLES = 3
MOST_JOBS = 50
Table = Any


def findings(
    viewer: Viewer, sources: Sources, query: ReportQuery, most: int = 20, examples: int = EXAMPLES
) -> tuple[FindingRow, ...]:
    """Answer with the findings of finished attempts, those of which the attempts wasted most first, each with the
    attempts that show it best. An attempt with several findings counts in each. Raises as `report`."""
    return ask(viewer, sources, query, lambda question: findings_of(kept(question), most, examples))


def kept(question: Question) -> Question:
    """With the attempts kept, whole: what is asked by job and finding is not split by node."""
    return question.asking(by=Group.NONE).keep(WAIT)


def findings_of(question: Question, most: int = 20, examples: int = EXAMPLES) -> tuple[FindingRow, ...]:
    """The findings that a question asks for."""
    whole = question.asking(by=Group.NONE)
    rows = whole.run("findings", lambda: _by_finding(whole))
    rows.sort(key=lambda row: (-(row["wasted"] or 0.0), row["findings"]))
    return tuple(
        FindingRow(
            row["findings"],
            row["jobs"],
            row["hours"] or 0.0,
            row["wasted"],
            _examples(question, row["findings"], examples),
        )
        for row in rows[:most]
    )


def standing(viewer: Viewer, sources: Sources, name: str, query: ReportQuery) -> Standing:
    """Answer where a user (or an account, when the query is by account) stands among all others of the range.

    Peers are those with at least 10 measured GPU-hours (accounts: of the same level of the tree); with fewer than five
    nothing is said of them. Raises NotFound for somebody of whom the viewer may see nothing, and as `report`.
    """
    if query.by not in (Group.USER, Group.ACCOUNT):
        raise BadRequest(f"nobody has a place among peers by {query.by.value}", hint="Ask by user or by account.")
    return ask(viewer, sources, query, lambda question: standing_of(question, name))


def standing_of(question: Question, name: str) -> Standing:
    """The place that a question by user or account asks for."""
    names = frozenset({name})
    own = HistoryFilter(users=names) if question.query.by is Group.USER else HistoryFilter(accounts=names)
    if not report_of(question.asking(by=Group.NONE, filter=own, columns=("utilization",))).rows:
        raise not_found(name)
    everybody = replace(question.viewer, role=Role.STAFF)
    whole = question.asking(everybody, filter=HistoryFilter(), limit=None, columns=("utilization",))
    return _standing(name, report_of(whole).rows)


def user_history(viewer: Viewer, sources: Sources, user: str, query: ReportQuery) -> UserHistory:
    """Answer with a user's figures, curve, partitions, largest jobs, findings and place over the range.

    Raises NotFound for a user of whom the viewer may see nothing, whether they exist or not, and as `report`.
    """
    own = replace(query, filter=replace(query.filter, users=frozenset({user})), limit=None, compare=False)
    may_know = user == viewer.user or _may_know(viewer, sources, user)
    return ask(viewer, sources, own, lambda question: _user_history(question, user, may_know))


def _user_history(asked: Question, user: str, may_know: bool) -> UserHistory:
    question = kept(asked)
    partitions = report_of(question.asking(by=Group.PARTITION))
    is_there = bool(partitions.rows)
    if not is_there and not may_know:
        raise not_found(user)
    jobs = question.asking(by=Group.JOB, limit=MOST_JOBS, sort="-gpu_hours_wasted")
    return UserHistory(
        user=user,
        total=partitions.total,
        trend=trend_of(question.asking(by=Group.DAY), "day"),
        partitions=partitions.rows,
        jobs=report_of(jobs).rows if is_there else (),
        findings=findings_of(question) if is_there else (),
        standing=standing_of(question.asking(by=Group.USER), user) if is_there else NO_STANDING,
        state=partitions.state,
    )


NO_STANDING = Standing(None, 0, None, None, None)


def not_found(name: str) -> NotFound:
    return NotFound(f"There is no history of {name[:60]}, or you may not see it", hint="Check the name and the range.")


def _by_finding(question: Question) -> Table:
    parts = question.parts().unnest("findings")
    return parts.group_by("findings").agg(
        jobs=parts.count(),
        hours=parts.gpu_hours_allocated.sum(),
        wasted=(parts.gpu_hours_measured - parts.gpu_hours_used).sum(),
    )


def _examples(question: Question, finding: str, most: int) -> tuple[ReportRow, ...]:
    chosen = replace(question.query.filter, findings=frozenset({finding}))
    jobs = question.asking(by=Group.JOB, filter=chosen, sort="-gpu_hours_wasted", limit=most)
    return report_of(jobs).rows if most else ()


def _standing(name: str, everybody: tuple[ReportRow, ...]) -> Standing:
    levels = {row.level for row in everybody if row.key == name}
    peers = {
        row.key: float(row.values["utilization"] or 0.0)
        for row in everybody
        if row.key is not None
        and row.level in levels
        and row.hours.measured >= PEER_HOURS
        and row.values.get("utilization") is not None
    }
    own = peers.get(name)
    if len(peers) < FEWEST_PEERS:
        return Standing(None, len(peers), own, None, None)
    values = sorted(peers.values(), reverse=True)
    rank = None if own is None else values.index(own) + 1
    return Standing(rank, len(peers), own, median(values), mean(values))


def _may_know(viewer: Viewer, sources: Sources, user: str) -> bool:
    return any(row.user == user and viewer.may_see(user, row.account) for row in sources.associations())
