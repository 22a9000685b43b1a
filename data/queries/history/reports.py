"""THE report: figures by group over any range, as far as the viewer may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from data.errors import BadRequest
from data.model import Role, Viewer
from data.queries.history.grouping import Place, Sums, ordered
from data.queries.history.groups import COLUMNS, IN_TIME, Group
from data.queries.history.model import HistoryState, Report, ReportQuery, ReportRow, Value, WaitRow
from data.queries.history.question import Question, ask
from data.queries.history.state import NO_NODE
from data.queries.history.summing import Summed, summed
from data.queries.history.values import values_of
from data.queries.history.waits import waits_of
from data.sources import Sources

_WAITS = ("wait_p50_seconds", "wait_p90_seconds", "waits")
# What is public of everybody: it names neither people nor their jobs.
PUBLIC_GROUPS = frozenset({Group.NONE, Group.PARTITION, Group.QOS, Group.MODEL, Group.SIZE, *IN_TIME})
PUBLIC_FILTERS = frozenset({"partitions", "qos", "models", "sizes"})


def report(viewer: Viewer, sources: Sources, query: ReportQuery) -> Report:
    """Answer with the figures of the attempts that ran in the range, by group, and of all together.

    Raises CannotKnow where no history is kept, BadRequest, SourceError.
    """
    found = ask(viewer, sources, query, report_of)
    if not query.compare:
        return found
    earlier = replace(query, since=query.since - query.length, until=query.since)
    before, state = ask(
        viewer, sources, earlier, lambda question: (summed(question), question.state), checks_words=False
    )
    return replace(_compared(found, before), before=state)


def report_of(question: Question) -> Report:
    """The report that a question asks for, without a comparison."""
    query = question.query
    wants_waits = any(name in query.columns for name in _WAITS)
    found = summed(question, waits=wants_waits)
    shown = [] if query.by is Group.NONE else _shown(query, found)
    of_all, waits = _waits(question, found, shown) if wants_waits else ((), {})
    total = row_of(query, found, None, of_all[0] if of_all else None)
    rows = tuple(row_of(query, found, place, waits.get(place)) for place in shown)
    if query.by is Group.NONE and found.groups:
        rows = (total,)
    return Report(query, rows, total, found.groups, of_all, _state(question, found), question.currency)


def _state(question: Question, found: Summed) -> HistoryState:
    state = question.state
    is_nowhere = question.query.by is Group.NODE and not all(place.key for place in found.rows)
    return replace(state, notes=(*state.notes, NO_NODE)) if is_nowhere else state


def _compared(found: Report, before: Summed) -> Report:
    """With the values of the time before in each row."""
    query, earlier = found.query, {(one.key, one.parent, one.level): sums for one, sums in before.rows.items()}
    total = replace(found.total, previous=_values(query, before.total, before.total))
    if query.by is Group.NONE:
        return replace(found, total=total, rows=(total,) if found.rows else ())
    rows = [
        replace(row, previous=_values(query, earlier.get((row.key, row.parent, row.level), {}), before.total))
        for row in found.rows
    ]
    return replace(found, total=total, rows=tuple(rows))


def cluster_report(viewer: Viewer, sources: Sources, query: ReportQuery) -> Report:
    """The same of everybody, for everybody: only by and of what names nobody.

    Raises BadRequest for a question whose answer would, and as `report`.
    """
    used = [one.name for one in fields(query.filter) if getattr(query.filter, one.name)]
    if query.by not in PUBLIC_GROUPS or not PUBLIC_FILTERS.issuperset(used):
        raise BadRequest(
            f"the report of the whole cluster is not given by {query.by.value}"
            + "".join(f", of {name}" for name in used),
            hint=f"By {', '.join(sorted(PUBLIC_GROUPS))}; of {', '.join(sorted(PUBLIC_FILTERS))}.",
        )
    found = report(replace(viewer, role=Role.STAFF), sources, query)
    return found if viewer.is_staff else replace(found, state=replace(found.state, damaged=()))


def ranking(
    viewer: Viewer, sources: Sources, query: ReportQuery, of: str = "gpu_hours_wasted", most: int = 10
) -> tuple[ReportRow, ...]:
    """The groups with the largest value of a column, largest first; groups without a value are left out.

    Raises BadRequest for an unknown column, and as `report`.
    """
    if of not in COLUMNS:
        raise BadRequest(f"there is no column {of[:60]}", hint=f"Such as {', '.join(list(COLUMNS)[:12])}.")
    columns = tuple(dict.fromkeys((*query.columns, of)))
    found = report(viewer, sources, replace(query, sort=f"-{of}", limit=most, columns=columns))
    return tuple(row for row in found.rows if row.value(of) is not None)


def _waits(
    question: Question, found: Summed, shown: Sequence[Place]
) -> tuple[tuple[WaitRow, ...], dict[Place, WaitRow]]:
    pairs = [(raw, str(number)) for number, place in enumerate(shown) for raw in found.raw.get(place, ())]
    of_all, by_number = waits_of(question, pairs, found.waits)
    return of_all, {place: by_number[str(number)] for number, place in enumerate(shown) if str(number) in by_number}


def _shown(query: ReportQuery, found: Summed) -> list[Place]:
    if query.by is Group.JOB:
        return list(found.rows)
    places = ordered(found.rows, query.by)
    name = query.sort.removeprefix("-")
    if name == "name":
        places = places[::-1] if query.sort.startswith("-") else places
    elif query.by not in IN_TIME or query.sort != ReportQuery(query.since, query.until).sort:
        values = {place: _of_place(query, found, place).get(name) for place in places}
        known = [place for place in places if values[place] is not None]
        known.sort(key=lambda place: values[place] or 0.0, reverse=query.sort.startswith("-"))
        places = known + [place for place in places if values[place] is None]
    return places if query.limit is None else places[: query.limit]


def row_of(query: ReportQuery, found: Summed, place: Place | None, wait: WaitRow | None) -> ReportRow:
    """One group, or all (`place` None)."""
    sums = _values(query, found.total, found.total) if place is None else _of_place(query, found, place)
    waits = {name: value for name, value in _wait_values(wait).items() if name in query.columns}
    values = {**sums, **waits}
    if place is None:
        return ReportRow(None, "All", values)
    return ReportRow(
        place.key, place.label, values, level=place.level, parent=place.parent, about=found.about.get(place, {})
    )


def _of_place(query: ReportQuery, found: Summed, place: Place) -> Mapping[str, Value]:
    """Made once for each place: rows are sorted by them and then shown."""
    if place not in found.values:
        found.values[place] = _values(query, found.rows[place], found.total)
    return found.values[place]


def _values(query: ReportQuery, sums: Sums, total: Sums) -> dict[str, Value]:
    return values_of(sums, total, query.columns)


def _wait_values(wait: WaitRow | None) -> dict[str, Value]:
    if wait is None:
        return {"wait_p50_seconds": None, "wait_p90_seconds": None, "waits": 0}
    return {"wait_p50_seconds": wait.p50_seconds, "wait_p90_seconds": wait.p90_seconds, "waits": wait.jobs}
