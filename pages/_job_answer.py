"""Asks for what a job's page shows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from components.job_page import JobView
from data.errors import NotFound
from data.model import Job, Viewer
from data.queries.job_context import Ahead, ahead, neighbors
from data.queries.job_report import job_answer
from data.queries.job_series import PLOTTED, series_of
from data.queries.live import snapshot
from data.queries.pending import Waiting, waiting
from data.queries.scope import may_read_script
from data.sources import Sources
from pages._address import choice_of, moment_of
from policy.model import JobVerdict
from policy.queries import VerdictList
from policy.rules import rule_named


def job_view(
    viewer: Viewer,
    sources: Sources,
    job_id: str,
    query: Mapping[str, str],
    base: str,
    judged: VerdictList | None = None,
) -> JobView:
    """One answer; `judged` are the verdicts that are known. Raises NotFound, BadRequest and SourceError as
    `job_answer`."""
    ignored: list[str] = []
    at = moment_of(query, sources.clock(), sources.settings.site_timezone, ignored)
    metric = choice_of(query, "metric", PLOTTED, PLOTTED[0], ignored)
    shows_all = choice_of(query, "all", ("1",), "", ignored) == "1"
    answer = job_answer(viewer, sources, job_id, at)
    job = answer.report.job
    row = _waiting(viewer, sources, job.display_id, at) if job.start_time is None and job.end_time is None else None
    verdict = _verdict(job, judged) if at is None and judged is not None else None
    return JobView(
        job_id=job_id,
        answer=answer,
        series=series_of(viewer, sources, answer, metric, None if shows_all else 16),
        snapshot=snapshot(viewer, sources, at=at),
        limits=sources.settings.judgement,
        neighbors=neighbors(viewer, sources, job, at) if job.end_time is None else (),
        waiting=row,
        ahead=ahead(viewer, sources, row, at) if row is not None else Ahead(),
        verdict=verdict,
        rule=None if verdict is None else rule_named(sources.settings.policy, verdict.verdict.rule),
        shows_all=shows_all,
        shows_script=job.is_batch is not False and may_read_script(viewer, job),
        is_staff=viewer.is_staff,
        base=base,
        at=at.isoformat() if at else "",
        now_href=f"{base}jobs/{job_id}",
        ignored=tuple(ignored),
    )


def _verdict(job: Job, judged: VerdictList) -> JobVerdict | None:
    """Of the same attempt; a part of a het job has its leader's."""
    names = {job.job_id, job.het_job_id}
    found = next((one for one in judged.verdicts if one.job.job_id in names), None)
    return found if found is not None and job.end_time is None and found.job.start_time == job.start_time else None


def _waiting(viewer: Viewer, sources: Sources, display_id: str, at: datetime | None) -> Waiting | None:
    """None for a job that started or was cancelled since the picture was made."""
    with suppress(NotFound):
        return waiting(viewer, sources, display_id, at)
    return None
