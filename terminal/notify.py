"""`fullwarp notify` on screen: who wastes what beyond the limits, and who is mailed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from rich.console import RenderableType
from rich.text import Text

from data.queries.history.waste import UnreadJob
from data.queries.history.waste_kinds import WASTE_KINDS
from data.words import clock, count, number, percent
from policy.findings_mails import amount_words
from policy.findings_plan import Plan, Told
from terminal.tables import Column, line, table

COLUMNS = (
    Column("KIND"),
    Column("USER"),
    Column("NOT USED", True),
    Column("SHARE", True),
    Column("JOBS", True),
    Column("JUDGED", True),
    Column("MAIL"),
)
UNREAD = (Column("JOB"), Column("USER"), Column("ENDED"), Column("GPU-H", True), Column("WHY"))


def plan_lines(
    plan: Plan, faults: tuple[str, ...], zone: tzinfo, width: int, *, is_done: bool
) -> Iterator[RenderableType]:
    """The table of all that is beyond the limits, then what could not be judged."""
    report = plan.report
    span = f"{report.since.astimezone(zone):%Y-%m-%d %H:%M} to {report.until.astimezone(zone):%Y-%m-%d %H:%M}"
    mails = count(len(plan.mails), "user") + (" mailed" if is_done else " would be mailed")
    yield line(("Waste of finished jobs", "bold"), f"  {span}: {mails}")
    for note in report.state.notes:
        yield line(("Note: ", "yellow"), note)
    if plan.rows:
        yield Text()
        yield table(COLUMNS, [_row(one, is_done) for one in plan.rows], width)
    else:
        yield line("Nobody is beyond the limits.")
    if report.unread_jobs:
        yield Text()
        yield line((count(report.unread_jobs, "job"), "bold"), " with GPUs could not be judged:")
        yield table(UNREAD, [_unread(one, zone, report.until) for one in report.unread], width)
        if report.unread_jobs > len(report.unread):
            yield line(f"and {report.unread_jobs - len(report.unread)} more")
    for fault in faults:
        yield line(("Failed: ", "red"), fault)


def _row(one: Told, is_done: bool) -> list[str]:
    waste = one.waste
    kind = WASTE_KINDS[waste.kind]
    mail = one.why_not or ("mailed" if is_done else "would be mailed")
    numbers = [percent(waste.ratio), number(waste.jobs), number(waste.judged)]
    return [kind.title, waste.user, amount_words(waste.amount, kind.unit), *numbers, mail]


def _unread(one: UnreadJob, zone: tzinfo, now: datetime) -> list[str | None]:
    hours = None if one.gpu_hours is None else number(one.gpu_hours, 1)
    return [one.job_id, one.user, clock(one.ended_at, zone, now), hours, one.why]
