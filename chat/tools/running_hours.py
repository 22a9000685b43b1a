"""Running jobs by the GPU-hours that they left idle or wasted in the last day: one question for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from chat.model import Asker
from data.efficiency import GpuHours
from data.model import JobFilter
from data.queries.jobs import JobRow, job_rows
from data.queries.live import snapshot
from data.queries.metrics import Group, Question, detailed_metrics

SORTS = ("idle_gpu_hours", "wasted_gpu_hours")
SPAN = timedelta(hours=24)


def rows_by_hours(asker: Asker, filter: JobFilter, sort: str) -> list[tuple[JobRow, GpuHours | None]]:
    """Running GPU jobs with their hours of the last day, the largest first; those that were not measured last.

    Raises as the queries do.
    """
    whole = snapshot(asker.viewer, asker.sources)
    hours = _hours(asker)
    rows = [row for row in job_rows(asker.viewer, whole, filter) if row.job.state != "PENDING" and row.gpus]
    found = [(row, hours.get(row.job.display_id)) for row in rows]
    return sorted(found, key=lambda one: _order(one[1], sort))


def value_of(hours: GpuHours | None, sort: str) -> float | None:
    if hours is None:
        return None
    return hours.idle if sort == "idle_gpu_hours" else hours.wasted


def _order(hours: GpuHours | None, sort: str) -> tuple[bool, float]:
    value = value_of(hours, sort)
    return (value is None, -(value or 0.0))


def _hours(asker: Asker) -> Mapping[str, GpuHours]:
    """By written id, of the attempts that run."""
    question = Question(asker.minute - SPAN, asker.minute, Group.JOB)
    return {row.name: row.hours for row in detailed_metrics(asker.viewer, asker.sources, question).rows if row.running}
