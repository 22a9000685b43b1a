"""A report with only the rows whose name holds a text."""

from __future__ import annotations

from dataclasses import replace

from data.errors import BadRequest
from data.model import Viewer
from data.queries.history.groups import Group
from data.queries.history.model import Report, ReportQuery
from data.queries.history.reports import report
from data.sources import Sources


def report_named(viewer: Viewer, sources: Sources, query: ReportQuery, text: str) -> Report:
    """As `report`, without the rows whose name does not hold the text, in whatever case; "" = all rows.

    The total stays that of all; `groups` counts the rows that fit. Raises BadRequest by job, of which there are too
    many to read, and as `report`.
    """
    if not text:
        return report(viewer, sources, query)
    if query.by is Group.JOB:
        raise BadRequest("jobs are not found by a text here", hint="Search for a job's number, or filter by user.")
    found = report(viewer, sources, replace(query, limit=None))
    rows = tuple(row for row in found.rows if text.casefold() in row.label.casefold())
    return replace(found, query=query, rows=rows[: query.limit], groups=len(rows))
