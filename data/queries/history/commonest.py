"""The finding that most jobs of each group have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from data.errors import BadRequest
from data.model import Viewer
from data.queries.history.found import by_finding
from data.queries.history.grouping import Place, places_of
from data.queries.history.groups import IN_TIME, Group
from data.queries.history.model import ReportQuery
from data.queries.history.question import Question, ask
from data.sources import Sources

GroupKey = tuple[str | None, str | None, int | None]
_NOT_BY = frozenset({Group.NONE, Group.JOB, *IN_TIME})
_COLUMNS = ("gpu_hours_allocated",)


@dataclass(frozen=True, slots=True)
class CommonFinding:
    """`jobs` finished attempts have it, with `gpu_hours` allocated inside the range."""

    id: str
    jobs: int
    gpu_hours: float


def common_findings(
    viewer: Viewer, sources: Sources, query: ReportQuery, among: Container[str]
) -> Mapping[GroupKey, CommonFinding]:
    """Answer with the most frequent finding of each group by (key, parent, level), of those with an id in `among`; of
    as frequent ones, that with more GPU-hours. Groups without one are absent. Raises BadRequest by job and by time, and
    as `report`."""
    if query.by in _NOT_BY:
        raise BadRequest(f"no finding is the most frequent by {query.by.value}", hint="Ask by user or account.")
    plain = replace(query, columns=_COLUMNS, sort="name", limit=None, compare=False)
    return ask(viewer, sources, plain, lambda question: _common(question, among))


def _common(question: Question, among: Container[str]) -> Mapping[GroupKey, CommonFinding]:
    found: defaultdict[Place, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    for row in question.run("findings", lambda: by_finding(question)):
        for place in places_of(question, row) if row["findings"] in among else ():
            sums = found[place][row["findings"]]
            sums[0] += row["jobs"]
            sums[1] += row["hours"] or 0.0
    return {(place.key, place.parent, place.level): _first(sums) for place, sums in found.items()}


def _first(sums: Mapping[str, Sequence[float]]) -> CommonFinding:
    name, (jobs, hours) = min(sums.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))
    return CommonFinding(name, int(jobs), hours)
