"""The verdicts as CSV, behind the same gate and through the same query as the page."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Flask, Response, request

from components.policy_table import fits, in_order
from data.csv_rows import csv_of
from data.errors import FullwarpError
from pages._policy_address import parse_policy_address
from pages._request import backing, viewer
from policy.model import JobVerdict
from policy.queries import verdicts

HEAD = ("job", "name", "user", "account", "partition", "status", "rule", "gpus", "mean", "coverage", "devices_idle",
        "devices_allocated", "wasted_gpu_hours_window", "since", "steps_taken", "next_action", "next_at",
        "sentence")  # fmt: skip


def add_policy_export(server: Flask, prefix: str) -> None:
    """Register the route; once per app."""
    server.add_url_rule(f"{prefix}policy.csv", "policy_csv", _export)


def _export() -> Response:
    """Verdicts of now that the address asks for; ratios 0..1, UTC; empty = not known or not measured."""
    own = backing()
    try:
        asked = parse_policy_address(request.args, own.sources.clock(), own.settings.site_timezone, "")
        found = verdicts(viewer(), own.sources).verdicts
    except FullwarpError as err:
        return Response(f"{err}\n", status=503, mimetype="text/plain")
    rows = [one for one in found if fits(one, asked.address.chosen)]
    headers = {"Content-Disposition": 'attachment; filename="policy.csv"', "Cache-Control": "no-store"}
    text = csv_of(HEAD, map(_values, in_order(rows, asked.address.value("sort"))))
    return Response(text, mimetype="text/csv", headers=headers)


def _values(one: JobVerdict) -> Iterator[object]:
    job, verdict = one.job, one.verdict
    yield from (job.display_id, job.name, job.user, job.account, job.partition, one.status.value, verdict.rule)
    yield from (one.gpus, verdict.mean, verdict.coverage, verdict.devices_idle, verdict.devices_allocated)
    yield from (verdict.wasted_gpu_hours_window, verdict.since, verdict.steps_taken)
    yield from (verdict.next_action, verdict.next_at, verdict.sentence)
