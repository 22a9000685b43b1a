"""`fullwarp simulate` on screen: what each rule would have done, to whom, and where complaints begin."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from rich.console import RenderableType
from rich.text import Text

from data.words import count, duration, gpu_hours, number, percent
from policy.whatif.answer import RefusedJobs
from policy.whatif.model import Amount, FalseAlarm, Outcome, UserHit, WhatIf
from policy.whatif_queries import Simulation
from terminal.tables import Column, line, table

USERS = (
    Column("USER"),
    Column("WARNED", True),
    Column("CANCELLED", True),
    Column("FALSE ALARMS", True),
    Column("SAVED", True),
    Column("HELD AFTER", True),
)
ALARMS = (
    Column("JOB"),
    Column("USER"),
    Column("PARTITION", is_wide=True),
    Column("GPUS", True),
    Column("CANCELLED AFTER", True),
    Column("USED AFTER", True),
)
CURVE = (
    Column("FORM"),
    Column("WARNED", True),
    Column("USERS", True),
    Column("CANCELLED", True),
    Column("USERS", True),
    Column("FALSE ALARMS", True),
    Column("SAVED", True),
    Column("HELD AFTER", True, is_wide=True),
)
_SHOWN = 10


def simulation_lines(found: Simulation, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """Rule by rule, and the limits at submission."""
    begin, end = (f"{moment.astimezone(zone):%Y-%m-%d %H:%M}" for moment in (found.since, found.until))
    yield line(f"GPU jobs that ended from {begin} to {end}.")
    if found.state.is_empty:
        yield line(("The history of this time is empty: nothing is known. See fullwarp collect.", "yellow"))
    for note in found.state.notes:
        yield line((note, "yellow"))
    if found.source is not None:
        yield line(("Exemptions that people made are not counted: their store does not answer.", "yellow"))
    for rule in found.rules:
        yield Text()
        yield from rule_lines(rule, width)
    if found.submission is not None:
        yield Text()
        yield from _refused_lines(found.submission)


def rule_lines(found: WhatIf, width: int) -> Iterator[RenderableType]:
    yield line((f"Rule {found.rule}", "bold"), "" if found.cannot else f": {form_words(found.outcome)}")
    if found.cannot:
        yield line((f"  Not replayed: {found.cannot}.", "yellow"))
        return
    outcome = found.outcome
    yield line(f"  Judged       {amount_words(found.judged)} of {amount_words(found.about)} that it is about")
    yield line(f"  Exempt       {amount_words(found.exempt)}")
    for one in found.apart:
        yield line(f"  Not judged   {amount_words(one.amount)}: {one.words}")
    yield line(f"  Warned       {amount_words(outcome.warned)}, {count(outcome.warnings, 'warning')}")
    yield line(f"  Cancelled    {amount_words(outcome.cancelled)}")
    yield line(f"  False alarms {amount_words(outcome.false_alarms)}: {percent(found.busy_from)} or more later")
    yield line(f"  Saved        {saved_words(found)}")
    yield line(f"  Held after   {gpu_hours(outcome.held_gpu_hours)}, of which {gpu_hours(outcome.used_gpu_hours)} used")
    yield from _tables(found, width)
    for note in found.notes:
        yield line((f"  {note}", "dim"))


def _tables(found: WhatIf, width: int) -> Iterator[RenderableType]:
    if found.users_hit:
        yield Text()
        yield table(USERS, [_user_row(one) for one in found.users_hit[:_SHOWN]], width)
    if found.false_alarms:
        yield Text()
        yield table(ALARMS, [_alarm_row(one) for one in found.false_alarms[:_SHOWN]], width)
    if found.curve:
        yield Text()
        yield table(CURVE, [_curve_row(one, found.outcome) for one in found.curve], width)
    yield Text()


def _user_row(one: UserHit) -> list[str]:
    counts = (one.warned, one.cancelled, one.false_alarms)
    return [one.user, *map(number, counts), gpu_hours(one.saved_gpu_hours), gpu_hours(one.held_gpu_hours)]


def _alarm_row(one: FalseAlarm) -> list[str | None]:
    gpus = None if one.gpus is None else number(one.gpus)
    return [one.job, one.user, one.partition, gpus, duration(one.after_seconds), gpu_hours(one.used_gpu_hours)]


def _curve_row(one: Outcome, own: Outcome) -> list[str]:
    mark = " (as it is)" if one == own else ""
    jobs = (one.warned.jobs, one.warned.users, one.cancelled.jobs, one.cancelled.users, one.false_alarms.jobs)
    hours = (one.saved_gpu_hours, one.held_gpu_hours)
    return [form_words(one) + mark, *map(number, jobs), *map(gpu_hours, hours)]


def form_words(one: Outcome) -> str:
    """The threshold and window, or the first step."""
    if one.threshold is None:
        return f"idle for {duration(one.first_step_seconds)}"
    return f"mean of {duration(one.window_seconds)} below {percent(one.threshold)}"


def amount_words(one: Amount) -> str:
    return f"{count(one.jobs, 'job')} of {count(one.users, 'user')} ({gpu_hours(one.gpu_hours)})"


def saved_words(found: WhatIf) -> str:
    """The hours with the assumption that they stand on."""
    outcome = found.outcome
    unknown = f"; {count(outcome.saved_unknown, 'job')} without a limit not in it" if outcome.saved_unknown else ""
    return f"{gpu_hours(outcome.saved_gpu_hours)}, if jobs run for {percent(found.saved_share)} of their limit{unknown}"


def _refused_lines(found: RefusedJobs) -> Iterator[RenderableType]:
    yield line(("At submission", "bold"), f": {amount_words(found.looked_at)} were looked at")
    yield line(f"  Refused      {amount_words(found.refused)}")
    for limit, amount in found.by_limit.items():
        yield line(f"    {limit.value}: {amount_words(amount)}")
    if found.unknown:
        yield line(f"  Not judged   {count(found.unknown, 'job')}: Slurm does not say how many GPUs they had")
    for note in found.notes:
        yield line((f"  {note}", "dim"))
