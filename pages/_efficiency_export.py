"""The table of the page of history as CSV, Parquet and HTML to mail: behind the same gate, by the same query."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from flask import Flask, Response, request

from data.errors import BadRequest, CannotKnow, FullwarpError
from data.queries import history
from data.queries.history import DEFAULT_COLUMNS, ReportQuery
from data.queries.history.flat import csv_text, parquet_bytes
from pages._efficiency_address import parse_efficiency_address
from pages._request import backing, viewer
from terminal.history_pages import report_html

FORMS = ("csv", "parquet", "html")
_KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "html": "text/html"}
_NAME = "efficiency"


def add_efficiency_export(server: Flask, prefix: str) -> None:
    """Register the routes; once per app."""
    for form in FORMS:
        server.add_url_rule(f"{prefix}{_NAME}.{form}", f"{_NAME}_{form}", lambda form=form: _export(form))


def _export(form: str) -> Response:
    """All rows of the question in the query string, not only those that the page shows; empty = not measured."""
    own = backing()
    asked = parse_efficiency_address(_query(), own.sources.clock(), own.settings.site_timezone, "")
    if asked.ignored:
        return Response("\n".join(asked.ignored) + "\n", status=400, mimetype="text/plain")
    query = replace(asked.table, limit=None, columns=DEFAULT_COLUMNS)
    try:
        body = _body(form, query, asked.text)
    except FullwarpError as err:
        return Response(f"{err}\n", status=_status(err), mimetype="text/plain")
    name = f"fullwarp-{_NAME}-{asked.table.since:%Y-%m-%d}.{form}"
    kept = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(body, mimetype=_KINDS[form], headers=kept)


def _body(form: str, query: ReportQuery, text: str) -> str | bytes:
    """The same as `fullwarp report` writes."""
    own, who = backing(), viewer()
    found = history.report_named(who, own.sources, query, text)
    if form == "csv":
        return csv_text(found)
    if form == "parquet":
        return parquet_bytes(found)
    curve = history.trend(who, own.sources, replace(query, compare=False))
    return report_html(found, curve, ZoneInfo(own.settings.site_timezone), own.sources.clock())


def _query() -> dict[str, list[str] | str]:
    """As a page gets it: one value as text, several as a list."""
    return {name: values[0] if len(values) == 1 else values for name, values in request.args.lists()}


def _status(err: FullwarpError) -> int:
    return 400 if isinstance(err, BadRequest) else 404 if isinstance(err, CannotKnow) else 503
