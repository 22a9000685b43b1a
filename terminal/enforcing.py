"""`fullwarp enforce` on screen: what was done or would be, what was withheld and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from rich.console import RenderableType
from rich.text import Text

from data.words import clock, count
from policy.enforcer.report import Fate, Line, PassReport
from policy.model import Status
from terminal.tables import Column, line, table

STYLES = {
    Fate.DONE: "bold red",
    Fate.WOULD: "cyan",
    Fate.WITHHELD: "yellow",
    Fate.REFUSED: "bold yellow",
    Fate.UNKNOWN: "bold yellow",
}
COLUMNS = (
    Column("JOB"),
    Column("USER"),
    Column("ACCOUNT", is_wide=True),
    Column("PARTITION", is_wide=True),
    Column("GPUS", True),
    Column("RULE"),
    Column("STEP", True),
    Column("ACTION"),
    Column("LOW SINCE"),
    Column("OUTCOME"),
    Column("WHY"),
)


def pass_lines(report: PassReport, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """What kind of pass it was, its totals, one row per act, and what staff should look at."""
    jobs = count(report.running_gpu_jobs, "running GPU job")
    totals = ", ".join(f"{report.counts[status]} {status}" for status in Status if report.counts.get(status))
    yield line((clock(report.time, zone, report.time), "bold"), f"  {jobs}", f": {totals}" if totals else "")
    if report.dry_because:
        yield line(("Dry run: ", "cyan"), f"nothing is done, because {report.dry_because}.")
    fates = report.fates
    said = [f"{fates[fate]} {fate}" for fate in Fate if fates.get(fate)]
    yield line(("Acts: ", "bold"), ", ".join(said) if said else "none is due")
    if report.lines:
        yield Text()
        yield table(COLUMNS, [_row(one, zone, report.time) for one in report.lines], width)
    for text in report.alarms:
        yield line(("For staff: ", "yellow"), text)


def _row(one: Line, zone: tzinfo, now: datetime) -> tuple[str | Text | None, ...]:
    why = f"{one.why} (of an earlier pass)" if one.is_earlier else one.why
    return (
        one.job,
        one.user,
        one.account,
        one.partition,
        None if one.gpus is None else str(one.gpus),
        one.rule,
        str(one.step),
        one.action.value,
        clock(one.low_since, zone, now),
        Text(one.fate.value, STYLES[one.fate]),
        why,
    )
