"""The list of jobs as CSV, behind the same gate and through the same queries as the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flask import Flask, Response, request

from data.csv_rows import csv_of
from data.errors import FullwarpError
from data.queries.finished import FinishedRow
from data.queries.job_list import Row, every_row
from pages._jobs_address import parse_jobs_address
from pages._request import backing, viewer

HEAD = ("job", "name", "user", "account", "partition", "state", "gpus", "gpus_measured", "gpus_idle",
        "gpu_utilization", "utilization_source", "elapsed_seconds", "time_limit_seconds", "wait_seconds", "nodes",
        "reason", "submit_time", "start_time", "end_time")  # fmt: skip


def add_export(server: Flask, prefix: str) -> None:
    """Register the route; once per app."""
    server.add_url_rule(f"{prefix}jobs.csv", "jobs_csv", _export)


def _export() -> Response:
    """All rows of the question in the query string; ratios 0..1, seconds, UTC; empty = not known."""
    own = backing()
    try:
        asked = parse_jobs_address(request.args, own.sources.clock(), own.settings.site_timezone)
        rows = list(every_row(viewer(), own.sources, replace(asked.question, budget_seconds=None)))
    except FullwarpError as err:
        return Response(f"{err}\n", status=503, mimetype="text/plain")
    return Response(
        csv_of(HEAD, map(_values, rows)),
        mimetype="text/csv",
        headers={"Content-Disposition": 'attachment; filename="jobs.csv"', "Cache-Control": "no-store"},
    )


def _values(row: Row) -> Iterator[object]:
    job = row.job
    yield from (job.display_id, job.name, job.user, job.account, job.partition, job.state, row.gpus)
    if isinstance(row, FinishedRow):
        yield from (None, None, row.utilization, row.source.value, job.elapsed_seconds)
    else:
        yield from (row.gpus_measured, row.gpus_idle if row.gpus_measured else None, row.utilization)
        yield from ("metrics" if row.gpus_measured else "none", row.elapsed_seconds)
    yield from (job.time_limit_seconds, row.wait_seconds, " ".join(job.nodes), job.reason)
    yield from (job.submit_time, job.start_time, job.end_time)
