"""What finished jobs wasted, by user and kind, each with the jobs that show it best; and what could not be judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from data.history.datasets import DATASETS
from data.history.measure.flags import DAMAGED_SUMMARY
from data.model import Viewer
from data.queries.history.compiled import MARKS, named_table
from data.queries.history.model import NO_STATE, HistoryFilter, HistoryState, ReportQuery
from data.queries.history.question import Question, ask
from data.queries.history.reading import ENDED
from data.queries.history.waste_kinds import WASTE_KINDS
from data.sources import Sources

Table = Any
_ABOUT = ("job_id", "display_id", "name", "partition", "end_time", "gpu_count", "cores", "elapsed_seconds")
_CASES = "waste"
_MOST_UNREAD = 50


@dataclass(frozen=True, slots=True)
class WastefulJob:
    """One finished attempt: `amount` in the kind's unit, `share` of the whole of its own (ratio)."""

    job_id: str
    name: str
    partition: str
    ended_at: datetime
    gpus: int | None
    cores: int | None
    elapsed_seconds: float | None
    amount: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Waste:
    """One user and kind. `amount` is in the kind's unit, `whole` that of which it is a part, over the `judged` jobs:
    those that the kind is about and that were measured; `jobs` of them have some of it. `everybody` is the whole of
    all users."""

    user: str
    kind: str
    amount: float
    whole: float
    jobs: int
    judged: int
    everybody: float
    examples: tuple[WastefulJob, ...] = ()

    @property
    def ratio(self) -> float | None:
        return self.amount / self.whole if self.whole > 0 else None

    @property
    def share_of_all(self) -> float | None:
        """How much of everybody's whole is this user's."""
        return self.whole / self.everybody if self.everybody > 0 else None


@dataclass(frozen=True, slots=True)
class UnreadJob:
    """A job whose GPUs nobody can judge: `why` is a damaged summary, or that nothing was measured."""

    user: str | None
    job_id: str
    ended_at: datetime
    gpu_hours: float | None
    why: str


@dataclass(frozen=True, slots=True)
class WasteReport:
    """Of attempts that ended in [since, until), the largest amounts of each kind first. `unread` are those with most
    GPU-hours of `unread_jobs`."""

    since: datetime
    until: datetime
    rows: tuple[Waste, ...]
    unread: tuple[UnreadJob, ...] = ()
    unread_jobs: int = 0
    state: HistoryState = NO_STATE


def waste(
    viewer: Viewer,
    sources: Sources,
    since: datetime,
    until: datetime,
    kinds: Sequence[str],
    examples: int = 5,
    users: frozenset[str] = frozenset(),
) -> WasteReport:
    """Answer with the waste of every user that the viewer may see, or of these `users`. Raises as `report`."""

    def answer(question: Question) -> WasteReport:
        return _report(question, tuple(kinds), examples)

    return ask(viewer, sources, ReportQuery(since, until, filter=HistoryFilter(users=users)), answer)


def _report(question: Question, kinds: tuple[str, ...], examples: int) -> WasteReport:
    schema = question.keep_as(_CASES, lambda: _cases(question, kinds), kinds)
    sums = question.run("waste sums", lambda: _sums(named_table(schema, _CASES)))
    best = question.run("waste best", lambda: _best(named_table(schema, _CASES), examples), examples)
    shown = defaultdict(list)
    for row in best:
        shown[(row["user"], row["kind"])].append(_job(row))
    everybody: defaultdict[str, float] = defaultdict(float)
    for row in sums:
        everybody[row["kind"]] += row["whole"]
    rows = [
        Waste(
            row["user"],
            row["kind"],
            row["amount"],
            row["whole"],
            int(row["jobs"]),
            int(row["judged"]),
            everybody[row["kind"]],
            tuple(shown[(row["user"], row["kind"])]),
        )
        for row in sums
        if row["user"] is not None and row["amount"] > 0
    ]
    place = {kind: number for number, kind in enumerate(kinds)}
    rows.sort(key=lambda one: (place[one.kind], -one.amount, one.user))
    unread = question.run("waste unread", lambda: _unread(_ended(question)).limit(_MOST_UNREAD))
    unread_jobs = question.run(
        "waste unread jobs", lambda: _unread(_ended(question)).agg(jobs=lambda rows: rows.count())
    )
    query = question.query
    return WasteReport(
        query.since,
        query.until,
        tuple(rows),
        tuple(UnreadJob(**row) for row in unread),
        int(unread_jobs[0]["jobs"]),
        question.state,
    )


def _ended(question: Question) -> Table:
    """The attempts that ended in the range and that the viewer may see, with all columns."""
    rows = named_table(DATASETS["jobs"].schema, ENDED)
    return question.allowed(rows.filter((rows.end_time >= MARKS.since) & (rows.end_time < MARKS.until)))


def _cases(question: Question, kinds: tuple[str, ...]) -> Table:
    """A row for each attempt and kind that it can be judged by."""
    rows = _ended(question)
    parts = [_of_kind(rows, kind) for kind in kinds]
    return reduce(lambda left, right: left.union(right), parts)


def _of_kind(rows: Table, kind: str) -> Table:
    import ibis

    found = WASTE_KINDS[kind]
    made = rows.select("user", *_ABOUT, kind=ibis.literal(kind), amount=found.amount(rows), whole=found.whole(rows))
    return made.filter(made.amount.notnull() & made.whole.notnull())


def _sums(cases: Table) -> Table:
    return cases.group_by("user", "kind").agg(
        amount=cases.amount.sum(),
        whole=cases.whole.sum(),
        jobs=(cases.amount > 0).ifelse(1, 0).sum(),
        judged=cases.count(),
    )


def _best(cases: Table, most: int) -> Table:
    """The attempts of each user and kind with most of it."""
    import ibis

    rows = cases.filter(cases.amount > 0)
    order = [rows.amount.desc(), rows.job_id, rows.end_time]
    place = ibis.row_number().over(group_by=["user", "kind"], order_by=order)
    rows = rows.mutate(place=place)
    return rows.filter(rows.place < most).order_by(["user", "kind", "place"])


def _unread(rows: Table) -> Table:
    import ibis

    marked = rows.mutate(is_damaged=rows.flags.contains(DAMAGED_SUMMARY).fill_null(False))
    nothing = (marked.gpu_hours_allocated > 0) & ~(marked.gpu_hours_measured.fill_null(0.0) > 0)
    found = marked.filter(marked.is_damaged | nothing)
    return found.select(
        "user",
        job_id=found.display_id,
        ended_at=found.end_time,
        gpu_hours=found.gpu_hours_allocated,
        why=found.is_damaged.ifelse(ibis.literal("its summary is damaged"), ibis.literal("its GPUs were not measured")),
    ).order_by([ibis.desc("gpu_hours"), "job_id"])


def _job(row: dict[str, Any]) -> WastefulJob:
    return WastefulJob(
        row["display_id"],
        row["name"] or "",
        row["partition"] or "",
        row["end_time"],
        row["gpu_count"],
        row["cores"],
        row["elapsed_seconds"],
        row["amount"],
        row["amount"] / row["whole"] if row["whole"] > 0 else None,
    )
