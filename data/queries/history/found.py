"""Findings of finished attempts by group, each with the attempts that show it best: two questions, however many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from data.queries.history.grouping import Sums, add, keys_of, raw_group
from data.queries.history.measures import WAIT
from data.queries.history.model import FindingRow, ReportRow, WaitRow
from data.queries.history.question import Question
from data.queries.history.relations import KEYS
from data.queries.history.reports import row_of
from data.queries.history.summing import Raw, Summed, add_job, order_of

Table = Any
BEST_FIRST = "-gpu_hours_wasted"


@dataclass
class _Found:
    """What is known of one finding in one group."""

    sums: Sums = field(default_factory=dict)
    best: list[Raw] = field(default_factory=list)


def by_finding(question: Question) -> Table:
    """Attempts by raw group and finding, with their hours; one with several findings counts in each."""
    parts = question.parts().unnest("findings")
    raw = raw_group(question.query.by, parts)
    return parts.group_by(**raw, findings=parts.findings).agg(
        jobs=parts.count(),
        hours=parts.gpu_hours_allocated.sum(),
        wasted=(parts.gpu_hours_measured - parts.gpu_hours_used).sum(),
    )


def best_of(question: Question, most: int) -> Table:
    """The attempts of each raw group and finding that wasted most."""
    import ibis

    parts = question.parts(*question.wanted().measures, WAIT).unnest("findings")
    raw = raw_group(question.query.by, parts)
    rows = parts.mutate(**raw)
    place = ibis.row_number().over(group_by=[*raw, "findings"], order_by=order_of(BEST_FIRST, rows))
    return rows.mutate(place=place).filter(lambda ranked: ranked.place < most)


def findings_by_key(question: Question, most: int, examples: int) -> Mapping[str | None, tuple[FindingRow, ...]]:
    """By the key of each group, those of which the attempts wasted most first; groups without one are absent."""
    found: defaultdict[str | None, defaultdict[str, _Found]] = defaultdict(lambda: defaultdict(_Found))
    for row in question.run("findings", lambda: by_finding(question)):
        for key in keys_of(question, row):
            for name in ("jobs", "hours", "wasted"):
                add(found[key][row["findings"]].sums, name, row[name])
    for row in question.run("best", lambda: best_of(question, examples), examples) if examples else ():
        for key in keys_of(question, row):
            found[key][row["findings"]].best.append(row)
    return {key: _first(question, rows, most, examples) for key, rows in found.items()}


def _first(question: Question, found: Mapping[str, _Found], most: int, examples: int) -> tuple[FindingRow, ...]:
    names = sorted(found, key=lambda name: (-(found[name].sums["wasted"] or 0.0), name))
    return tuple(_row(question, name, found[name], examples) for name in names[:most])


def _row(question: Question, name: str, found: _Found, examples: int) -> FindingRow:
    sums, best = found.sums, sorted(found.best, key=_most_wasted)[:examples]
    rows = tuple(_example(question, row, sums["hours"]) for row in best)
    return FindingRow(name, round(sums["jobs"] or 0), sums["hours"] or 0.0, sums["wasted"], rows)


def _example(question: Question, raw: Raw, hours: float | None) -> ReportRow:
    """One attempt; its share is that of the finding's GPU-hours."""
    made = Summed({"gpu_hours_allocated": hours}, {}, 1)
    place = add_job(made, raw, question.wanted().measures)
    wait = raw[WAIT]
    return row_of(question.query, made, place, None if wait is None else WaitRow("", 1, wait, wait))


def _most_wasted(raw: Raw) -> tuple[Any, ...]:
    """The order of BEST_FIRST, for attempts of several raw groups."""
    used = raw["gpu_hours_used"]
    wasted = None if used is None else raw["gpu_hours_measured"] - used
    return (wasted is None, -(wasted or 0.0), *(raw[name] for name in KEYS))
