"""One function for each route: parameters to a question, the question to the layer that answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from api import parameters as of
from api.paging import FAREST, MOST_ROWS, Part, cut
from data.errors import BadRequest, CannotKnow
from data.exemption import KeptExemption
from data.findings.advice import Advice, advice
from data.model import JobFilter, NodeFilter
from data.moment import parse_end, parse_moment
from data.node_rows import NodeDetail, NodeList
from data.queries import history
from data.queries.asked import Asked, require_partitions
from data.queries.history import FindingRow, Group, Report, ReportQuery, report_query
from data.queries.job_report import JobAnswer, job_answer
from data.queries.job_series import JobSeries, job_series
from data.queries.jobs import JobPage, jobs
from data.queries.live import ClusterStatus, overview
from data.queries.metrics import MetricsTable, Question, detailed_metrics
from data.queries.node_detail import node_view
from data.queries.nodes import nodes
from data.state.exemptions import end_exemption
from data.state.store import StateStore
from policy.exempted import ExemptionList, exemptions
from policy.exemptions import Wanted, make_exemption
from policy.model import JobVerdict
from policy.queries import VerdictList, verdict, verdicts

_NOT_OF_QUERY = {"group", "limit", "offset"}
_MOST_FINDINGS = 1000
# Few sizes, because each is a question of its own to the engine.
_MOST_JOBS = (100, 1000, 10_000, 100_000, FAREST + MOST_ROWS)


@dataclass(frozen=True, slots=True)
class FindingList:
    """Findings of the finished attempts of [since, until), and what each of them means."""

    since: datetime
    until: datetime
    rows: tuple[FindingRow, ...]
    advice: Mapping[str, Advice]


def ask_status(asked: Asked, wanted: of.StatusParameters) -> ClusterStatus:
    at = asked.moment(wanted.at)
    require_partitions(asked.viewer, asked.sources, wanted.partition, at)
    filter = NodeFilter(partitions=frozenset(wanted.partition)) if wanted.partition else None
    return overview(asked.viewer, asked.sources, at=at, filter=filter).status


def ask_nodes(asked: Asked, wanted: of.NodesParameters) -> Part[NodeList]:
    at = asked.moment(wanted.at)
    require_partitions(asked.viewer, asked.sources, wanted.partition, at)
    filter = NodeFilter(
        partitions=frozenset(wanted.partition),
        states=_texts(wanted.state),
        gpu_states=_texts(wanted.gpu_state),
        models=frozenset(wanted.model),
        features=frozenset(wanted.feature),
        text=wanted.name,
    )
    found = nodes(asked.viewer, asked.sources, filter, at)
    return Part(replace(found, rows=cut(found.rows, wanted.limit, wanted.offset)), len(found.rows))


def ask_node(asked: Asked, wanted: of.NodeParameters) -> NodeDetail:
    found = node_view(asked.viewer, asked.sources, wanted.name, asked.moment(wanted.at))
    more = (found.unknown,) if found.unknown else ()
    return replace(found.detail, unknown=(*found.detail.unknown, *more))


def ask_jobs(asked: Asked, wanted: of.JobsParameters) -> Part[JobPage]:
    filter = JobFilter(
        _texts(wanted.state),
        frozenset(wanted.user),
        frozenset(wanted.account),
        frozenset(wanted.partition),
        wanted.text,
    )
    at = asked.moment(wanted.at)
    require_partitions(asked.viewer, asked.sources, wanted.partition, at)
    found = jobs(asked.viewer, asked.sources, filter, at, wanted.sort, wanted.limit, wanted.offset)
    return Part(found, found.total)


def ask_job(asked: Asked, wanted: of.JobParameters) -> JobAnswer:
    return job_answer(asked.viewer, asked.sources, wanted.job_id, asked.moment(wanted.at))


def ask_series(asked: Asked, wanted: of.SeriesParameters) -> JobSeries:
    at = asked.moment(wanted.at)
    return job_series(asked.viewer, asked.sources, wanted.job_id, wanted.metric, at, wanted.devices)


def ask_report(asked: Asked, wanted: of.ReportParameters) -> Part[Report]:
    """Rows of jobs are cut where they are read; of other groups there are few, and the total needs them all."""
    query = replace(_history(asked, wanted), by=wanted.group)
    if wanted.group is Group.JOB:
        query = replace(query, limit=next(most for most in _MOST_JOBS if most >= wanted.offset + wanted.limit))
    found = history.report(asked.viewer, asked.sources, query)
    total = max(found.groups, len(found.rows))
    return Part(replace(found, rows=cut(found.rows, wanted.limit, wanted.offset)), total)


def ask_findings(asked: Asked, wanted: of.FindingsParameters) -> Part[FindingList]:
    query = _history(asked, wanted)
    words = advice(asked.sources.settings.findings)
    found = history.findings(asked.viewer, asked.sources, query, most=_MOST_FINDINGS)
    rows = cut(found, wanted.limit, wanted.offset)
    known = {row.id: words[row.id] for row in rows if row.id in words}
    return Part(FindingList(query.since, query.until, rows, known), len(found))


def ask_metrics(asked: Asked, wanted: of.MetricsParameters) -> Part[MetricsTable]:
    question = Question(
        _distance("since", wanted.since, asked),
        _distance("until", wanted.until, asked),
        wanted.group,
        wanted.by_model,
        frozenset(wanted.user),
        frozenset(wanted.account),
        frozenset(wanted.partition),
        frozenset(wanted.model),
        frozenset(wanted.application),
        wanted.text,
        wanted.finding,
        wanted.sort,
    )
    found = detailed_metrics(asked.viewer, asked.sources, question)
    return Part(replace(found, rows=cut(found.rows, wanted.limit, wanted.offset)), len(found.rows))


def ask_verdicts(asked: Asked, wanted: of.VerdictsParameters) -> Part[VerdictList]:
    require_partitions(asked.viewer, asked.sources, wanted.partition, None)
    found = verdicts(asked.viewer, asked.sources)
    fitting = [one for one in found.verdicts if _fits(one, wanted)]
    return Part(replace(found, verdicts=cut(fitting, wanted.limit, wanted.offset)), len(fitting))


def ask_verdict(asked: Asked, wanted: of.VerdictParameters) -> JobVerdict:
    return verdict(asked.viewer, asked.sources, wanted.job_id)


def ask_exemptions(asked: Asked, wanted: of.ExemptionsParameters) -> Part[ExemptionList]:
    found = exemptions(asked.viewer, asked.sources)
    rows = [row for row in found.rows if not wanted.kind or row.kind in wanted.kind]
    return Part(replace(found, rows=cut(rows, wanted.limit, wanted.offset)), len(rows))


def add_exemption(asked: Asked, wanted: of.NewExemption) -> KeptExemption:
    until = parse_end("until", wanted.until, asked.now, asked.zone)
    new = Wanted(wanted.kind, wanted.name, until, wanted.reason, wanted.rule)
    return make_exemption(_store(asked), new, asked.sources.settings.policy, asked.viewer.user, asked.now)


def remove_exemption(asked: Asked, wanted: of.ExemptionParameters) -> KeptExemption:
    return end_exemption(_store(asked), wanted.exemption_id, asked.viewer.user, asked.now)


def _store(asked: Asked) -> StateStore:
    """The store that the token came from, so it is there."""
    found = asked.sources.state.store(asked.sources.settings.state)
    if found is None:
        raise CannotKnow("Nothing is kept here", hint="Set state.directory or state.url in the server's settings.")
    return found


def _fits(one: JobVerdict, wanted: of.VerdictsParameters) -> bool:
    return (
        (not wanted.status or one.status in wanted.status)
        and (not wanted.rule or one.verdict.rule in wanted.rule)
        and (not wanted.user or one.job.user in wanted.user)
        and (not wanted.account or one.job.account in wanted.account)
        and (not wanted.partition or one.job.partition in wanted.partition)
    )


def _history(asked: Asked, wanted: of.HistoryParameters) -> ReportQuery:
    """The question that the same parameters ask on the page and in the terminal."""
    given = wanted.model_dump(mode="json", exclude=_NOT_OF_QUERY, exclude_none=True)
    words = {name: value if isinstance(value, list) else str(value) for name, value in given.items()}
    return report_query(words, asked.minute, asked.zone)


def _distance(name: str, text: str, asked: Asked) -> datetime:
    """A moment, or a bare distance such as 7d."""
    is_bare = text[:1].isdigit() and text[-1:].isalpha() and text[-1:] not in "zZ"
    try:
        return parse_moment(f"-{text}" if is_bare else text, asked.minute, asked.zone) or asked.minute
    except BadRequest as err:
        raise BadRequest(f"{name}: {err}", hint=err.hint) from err


def _texts(words: Iterable[object]) -> frozenset[str]:
    return frozenset(str(word) for word in words)
