"""`fullwarp efficiency` on screen: which jobs use their GPUs too little, why, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from rich.console import RenderableType
from rich.text import Text

from data.words import clock, count, duration, gpu_hours, of, percent
from policy.model import JobVerdict, Status, Verdict
from policy.queries import VerdictList
from settings import RuleMode
from terminal.status import source_lines
from terminal.tables import Column, line, table

STYLES = {
    Status.LOW: "bold red",
    Status.UNKNOWN: "yellow",
    Status.CALCULATING: "cyan",
    Status.OK: "green",
    Status.EXEMPT: "",
}
COLUMNS = (
    Column("JOB"),
    Column("USER"),
    Column("VERDICT"),
    Column("RULE", is_wide=True),
    Column("GPUS", True),
    Column("MEAN", True),
    Column("IDLE", True, is_wide=True),
    Column("COVERAGE", True, is_wide=True),
    Column("WASTED", True),
    Column("NEXT STEP"),
    Column("WHY", is_wide=True),
)


def list_lines(found: VerdictList, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """All verdicts, worst first, with the totals of everybody's jobs above."""
    totals = ", ".join(f"{found.counts[status]} {status}" for status in Status if found.counts.get(status))
    yield line((count(found.running_gpu_jobs, "running GPU job"), "bold"), f": {totals}" if totals else "")
    if found.fault:
        yield line(("Not judged: ", "yellow"), found.fault, f" ({found.detail})" if found.detail else "")
    if found.uncovered:
        yield line(f"No rule is about {count(found.uncovered, 'of them', 'of them')}.")
    if found.verdicts:
        yield Text()
        yield table(COLUMNS, [_row(one, zone) for one in found.verdicts], width)
    yield from source_lines(found.sources, (), found.time)


def job_lines(one: JobVerdict, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """One job: its verdict, what was measured, and each rule's own verdict."""
    job, verdict = one.job, one.verdict
    yield line(
        (f"Job {job.display_id}", "bold"), f"  {job.user or '?'}  {job.partition}  ", clock(one.time, zone, one.time)
    )
    yield line("Verdict   ", (verdict.status.value, STYLES[verdict.status]), f" by the rule {verdict.rule}")
    yield line(f"          {verdict.sentence}")
    yield line(f"Mean      {_mean(verdict)} in {duration(verdict.window_seconds)}")
    yield line(f"Coverage  {_coverage(verdict)}")
    yield line(f"Idle      {_idle(verdict)}")
    yield line(f"Wasted    {gpu_hours(verdict.wasted_gpu_hours_window)} in the window{_total(one)}")
    if verdict.since is not None:
        yield line(f"Low since {clock(verdict.since, zone, one.time)}")
    yield line(f"Next step {_next(verdict, zone, one.time) or 'none'}")
    yield Text()
    yield table(RULE_COLUMNS, [_rule_row(each, zone, one.time) for each in one.verdicts], width)


RULE_COLUMNS = (
    Column("RULE"),
    Column("VERDICT"),
    Column("MEAN", True),
    Column("COVERAGE", True),
    Column("STEPS TAKEN", True),
    Column("NEXT STEP"),
    Column("WHY"),
)


def _rule_row(verdict: Verdict, zone: tzinfo, now: datetime) -> tuple[str | Text | None, ...]:
    status = Text(verdict.status.value, STYLES[verdict.status])
    step = _next(verdict, zone, now)
    return (
        verdict.rule,
        status,
        _mean(verdict),
        _coverage(verdict),
        str(verdict.steps_taken) if verdict.is_acted_on else None,
        step,
        verdict.sentence,
    )


def _row(one: JobVerdict, zone: tzinfo) -> tuple[str | Text | None, ...]:
    verdict = one.verdict
    return (
        one.job.display_id,
        one.job.user,
        Text(verdict.status.value, STYLES[verdict.status]),
        verdict.rule,
        None if one.gpus is None else str(one.gpus),
        _mean(verdict),
        None if verdict.devices_idle is None else str(verdict.devices_idle),
        _coverage(verdict),
        gpu_hours(verdict.wasted_gpu_hours_window),
        _next(verdict, zone, one.time),
        verdict.sentence,
    )


def _mean(verdict: Verdict) -> str:
    return f"{verdict.metric} {percent(verdict.mean, limit=verdict.threshold)}" if verdict.mean is not None else "–"


def _coverage(verdict: Verdict) -> str:
    return percent(None if verdict.coverage is None else min(1.0, verdict.coverage))


def _idle(verdict: Verdict) -> str:
    if verdict.devices_idle is None:
        return "not measured"
    return of(verdict.devices_idle, verdict.devices_allocated, "GPU")


def _total(one: JobVerdict) -> str:
    return "" if one.wasted_gpu_hours_total is None else f", {gpu_hours(one.wasted_gpu_hours_total)} since its start"


def _next(verdict: Verdict, zone: tzinfo, now: datetime) -> str | None:
    if verdict.next_action is not None and verdict.next_at is not None:
        when = "now" if verdict.next_at <= now else clock(verdict.next_at, zone, now)
        return f"{verdict.next_action.value} {when}"
    return "reports only" if verdict.status is Status.LOW and verdict.mode is RuleMode.REPORT else None
