"""The table of the page of history as CSV and Parquet, and the report to mail: same gate, same query as the page."""

from __future__ import annotations

from dataclasses import replace

from flask import Flask, Response, request

from data.errors import BadRequest, CannotKnow, FullwarpError
from data.queries import history
from data.queries.history import DEFAULT_COLUMNS
from data.queries.history.flat import csv_text, parquet_bytes
from pages._efficiency_address import parse_efficiency_address
from pages._request import backing, viewer

FORMS = ("csv", "parquet")
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
    try:
        report = history.report(viewer(), own.sources, replace(asked.table, limit=None, columns=DEFAULT_COLUMNS))
    except FullwarpError as err:
        return Response(f"{err}\n", status=_status(err), mimetype="text/plain")
    name = f"fullwarp-{_NAME}-{asked.table.since:%Y-%m-%d}.{form}"
    kept = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    if form == "csv":
        return Response(csv_text(report), mimetype="text/csv", headers=kept)
    return Response(parquet_bytes(report), mimetype="application/vnd.apache.parquet", headers=kept)


def _query() -> dict[str, list[str] | str]:
    """As a page gets it: one value as text, several as a list."""
    return {name: values[0] if len(values) == 1 else values for name, values in request.args.lists()}


def _status(err: FullwarpError) -> int:
    return 400 if isinstance(err, BadRequest) else 404 if isinstance(err, CannotKnow) else 503
