"""What is true on the simulated cluster at one moment, asked of the queries as staff: the grounds of the questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

from data.model import ClusterSnapshot, Job, Node, Role, Viewer
from data.queries import history
from data.queries.asked import Asked
from data.queries.history import ReportRow, report_query
from data.queries.job_report import job_answer
from data.queries.live import overview
from data.report import JobReport
from data.sources import Sources
from data.totals import Totals

STAFF = Viewer("evaluation", Role.STAFF)


@dataclass(frozen=True, slots=True)
class Truth:
    """`reports` are of running GPU jobs with all that questions ask measured; `users` those who wasted most in the
    last 7 days; `owner` and `stranger` both have running jobs, and neither coordinates an account."""

    now: datetime
    snapshot: ClusterSnapshot
    totals: Totals
    reports: Sequence[JobReport]
    pending: Sequence[Job]
    nodes: Sequence[Node]
    users: Sequence[ReportRow]
    total: ReportRow
    owner: Viewer
    stranger: Viewer


def truth(sources: Sources, now: datetime, chance: Random) -> Truth:
    """Ask the queries. `sources` must stand still at `now`. Raises what the queries raise."""
    seen = overview(STAFF, sources)
    running = [job for job in seen.snapshot.jobs if job.is_running and job.allocated.gpus and job.user]
    chance.shuffle(running)
    reports = [job_answer(STAFF, sources, job.display_id).report for job in running[:24]]
    minute = Asked(STAFF, sources, now).minute
    words = {"by": "user", "since": "7d", "sort": "-gpu_hours_wasted"}
    week = history.report(STAFF, sources, report_query(words, minute))
    people = list(dict.fromkeys(job.user for job in running if job.user))
    return Truth(
        now,
        seen.snapshot,
        seen.totals,
        [report for report in reports if _is_whole(report)],
        [job for job in seen.snapshot.jobs if job.state == "PENDING"][:8],
        sorted((node for node in seen.snapshot.nodes if node.gpus_total), key=lambda _: chance.random()),
        [row for row in week.rows if row.key][:6],
        week.total,
        Viewer(people[0], Role.USER),
        Viewer(people[1], Role.USER),
    )


def _is_whole(report: JobReport) -> bool:
    values = (report.utilization.value, report.elapsed_seconds, report.gpu_count, report.hours)
    return all(value is not None for value in values)
