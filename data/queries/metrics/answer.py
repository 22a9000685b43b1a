"""THE answer: the detailed table of any range, from the metrics server or from history."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from data.errors import BadRequest
from data.findings.advice import advice
from data.model import Viewer
from data.queries.metrics.live import LONGEST, OLDEST, Pieces, live_pieces, visible
from data.queries.metrics.model import Group, MetricsRow, MetricsTable, NotExported, Origin, Piece, Question
from data.queries.metrics.not_exported import not_exported
from data.queries.metrics.past import past_pieces
from data.queries.metrics.rows import finding_uses, keep, options_of, row_of, rows_of
from data.sources import Sources

SHORTEST_SECONDS = 60.0


def detailed_metrics(viewer: Viewer, sources: Sources, question: Question) -> MetricsTable:
    """Answer how the GPUs were used, row by row, as far as the viewer may see.

    Raises BadRequest for a range without length or in the future, CannotKnow for one that only history could answer
    and history is not kept, SourceError when the metrics do not answer.
    """
    now = sources.clock()
    asked = _checked(question, now)
    if is_live(asked, now):
        found = live_pieces(sources, asked.since, asked.until, now)
        absent = not_exported(viewer, sources, found.missing)
        return _table(sources, asked, found, visible(viewer, found), absent, Origin.LIVE)
    past = past_pieces(viewer, sources, asked.since, asked.until)
    absent = tuple(NotExported(name) for name in past.absent) if past.found.pieces else ()
    return _table(sources, asked, past.found, visible(viewer, past.found), absent, Origin.HISTORY)


def is_live(question: Question, now: datetime) -> bool:
    """Whether the metrics are asked directly: at most a day, of the last week."""
    return question.until - question.since <= LONGEST and now - question.since <= OLDEST + LONGEST


def _checked(question: Question, now: datetime) -> Question:
    until = min(question.until, now)
    if (until - question.since).total_seconds() < SHORTEST_SECONDS:
        raise BadRequest(
            f"the range from {question.since:%Y-%m-%d %H:%M} to {question.until:%Y-%m-%d %H:%M} UTC has no length",
            hint="Give a begin that is at least a minute before the end, and not in the future.",
        )
    return replace(question, until=until)


def _table(
    sources: Sources,
    asked: Question,
    found: Pieces,
    seen: list[Piece],
    absent: tuple[NotExported, ...],
    origin: Origin,
) -> MetricsTable:
    kept = keep(seen, asked)
    return MetricsTable(
        since=found.window.start,
        until=found.window.end,
        group=asked.group,
        origin=origin,
        rows=rows_of(kept, asked),
        total=_total(kept),
        findings=finding_uses(kept),
        advice=advice(sources.settings.findings),
        not_exported=absent,
        options=options_of(seen),
        interval_seconds=found.interval_seconds,
        unknown=found.unknown,
        made_at=found.window.end,
    )


def _total(pieces: list[Piece]) -> MetricsRow:
    return row_of("", pieces, Group.MODEL)
