"""What history says of one person or group: findings to act on, and the place among peers, who stay without names."""

from __future__ import annotations

from dataclasses import replace

from data.errors import BadRequest, NotFound
from data.model import Role, Viewer
from data.queries.history.charts import trend_of
from data.queries.history.found import findings_by_key
from data.queries.history.groups import Group
from data.queries.history.measures import WAIT
from data.queries.history.model import (
    FindingRow,
    HistoryFilter,
    ReportQuery,
    Standing,
    UserHistory,
)
from data.queries.history.peers import NO_STANDING, Peers, peers_of
from data.queries.history.question import Question, ask
from data.queries.history.reports import report_of
from data.sources import Sources

EXAMPLES = 3
MOST_JOBS = 50


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
    """The findings that a question asks for, whatever its group."""
    return findings_by_key(question.asking(by=Group.NONE), most, examples).get(None, ())


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
    return everybody(question).standing(name)


def everybody(question: Question) -> Peers:
    """All users or accounts of the range, whoever asks: to be given on only as places without names."""
    staff = replace(question.viewer, role=Role.STAFF)
    whole = question.asking(staff, filter=HistoryFilter(), limit=None, columns=("utilization",))
    return peers_of(report_of(whole).rows)


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


def not_found(name: str) -> NotFound:
    return NotFound(f"There is no history of {name[:60]}, or you may not see it", hint="Check the name and the range.")


def _may_know(viewer: Viewer, sources: Sources, user: str) -> bool:
    return any(row.user == user and viewer.may_see(user, row.account) for row in sources.associations())
