"""`fullwarp exempt` on screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo

from rich.console import RenderableType

from data.exemption import KeptExemption
from data.words import clock, gpu_hours, number
from policy.exempted import ExemptionList, HeldExemption
from terminal.status import source_lines
from terminal.tables import Column, line, table

KEPT = (
    Column("ID"),
    Column("KIND"),
    Column("NAME"),
    Column("RULE"),
    Column("UNTIL"),
    Column("STATE"),
    Column("MADE BY", is_wide=True),
    Column("REASON", is_wide=True),
)
HELD = (
    Column("ID"),
    Column("KIND"),
    Column("NAME"),
    Column("RULE"),
    Column("UNTIL"),
    Column("JOBS", True),
    Column("LOW", True),
    Column("HELD", True),
    Column("MADE BY", is_wide=True),
    Column("REASON", is_wide=True),
)


def made_line(one: KeptExemption, zone: tzinfo) -> RenderableType:
    rule = f"the rule {one.rule}" if one.rule else "every rule"
    until = clock(one.until, zone, one.created_at)
    return line(f"{one.id}: {one.kind} {one.name} is exempt from {rule} until {until}: {one.reason}")


def ended_line(one: KeptExemption) -> str:
    if one.ended_at is None:
        return f"The exemption {one.id} of {one.kind} {one.name} had ended by itself."
    return f"The exemption {one.id} of {one.kind} {one.name} is removed."


def kept_lines(rows: Sequence[KeptExemption], zone: tzinfo, now: datetime, width: int) -> Iterator[RenderableType]:
    """One row for each exemption that people made."""
    if not rows:
        yield line("No exemptions.")
        return
    yield table(KEPT, [_kept_row(one, zone, now) for one in rows], width)


def held_lines(found: ExemptionList, zone: tzinfo, width: int) -> Iterator[RenderableType]:
    """One row for each exemption that counts now, and what is held under it."""
    if not found.rows:
        yield line("No exemptions.")
    else:
        yield table(HELD, [_held_row(one, zone, found.time) for one in found.rows], width)
    yield from source_lines(found.sources, (), found.time)


def _kept_row(one: KeptExemption, zone: tzinfo, now: datetime) -> tuple[str | None, ...]:
    state = "removed" if one.ended_at else "active" if one.is_active(now) else "ended"
    until = clock(one.until, zone, now)
    return (one.id, one.kind, one.name, one.rule or "all", until, state, one.created_by, one.reason)


def _held_row(one: HeldExemption, zone: tzinfo, now: datetime) -> tuple[str | None, ...]:
    return (
        one.id or None,
        one.kind,
        one.name or None,
        one.rule or "all",
        None if one.until is None else clock(one.until, zone, now),
        number(one.jobs),
        number(one.low_jobs),
        gpu_hours(one.gpu_hours_held),
        one.created_by or None,
        one.reason,
    )
