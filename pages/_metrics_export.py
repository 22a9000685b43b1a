"""The detailed table as CSV and Parquet, behind the same gate and through the same query as the page."""

from __future__ import annotations

from flask import Flask, Response, request

from data.errors import BadRequest, FullwarpError
from data.queries.metrics import detailed_metrics
from data.queries.metrics.flat import csv_text, parquet_bytes
from data.queries.metrics.model import MetricsTable
from pages._metrics_address import parse_metrics_address
from pages._request import backing, viewer


def add_metrics_export(server: Flask, prefix: str) -> None:
    """Register the two routes; once per app."""
    server.add_url_rule(f"{prefix}metrics.csv", "metrics_csv", lambda: _export("csv"))
    server.add_url_rule(f"{prefix}metrics.parquet", "metrics_parquet", lambda: _export("parquet"))


def _export(form: str) -> Response:
    """All rows of the question in the query string; ratios 0..1, GPU-hours, bytes, watts; empty = not measured."""
    own = backing()
    try:
        asked = parse_metrics_address(request.args, own.sources.clock(), own.settings.site_timezone)
        if asked.ignored:
            return Response("\n".join(asked.ignored) + "\n", status=400, mimetype="text/plain")
        table = detailed_metrics(viewer(), own.sources, asked.question)
    except FullwarpError as err:
        return Response(f"{err}\n", status=400 if isinstance(err, BadRequest) else 503, mimetype="text/plain")
    kept = {"Content-Disposition": f'attachment; filename="metrics.{form}"', "Cache-Control": "no-store"}
    body, kind = _body(table, form)
    return Response(body, mimetype=kind, headers=kept)


def _body(table: MetricsTable, form: str) -> tuple[bytes, str]:
    if form == "csv":
        return csv_text(table).encode(), "text/csv"
    return parquet_bytes(table), "application/vnd.apache.parquet"
