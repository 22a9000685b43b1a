"""`fullwarp token list` on screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import RenderableType

from terminal.tables import Column, line, table

if TYPE_CHECKING:
    from data.state.tokens import Token

COLUMNS = (
    Column("ID"),
    Column("USER"),
    Column("ROLE"),
    Column("STATE"),
    Column("ENDS"),
    Column("LAST USED"),
    Column("MADE BY", is_wide=True),
    Column("NOTE", is_wide=True),
)


def token_lines(tokens: Sequence[Token], now: datetime, width: int) -> Iterator[RenderableType]:
    """One row for each token; days are UTC."""
    if not tokens:
        yield line("No tokens.")
        return
    yield table(COLUMNS, [_row(one, now) for one in tokens], width)


def _row(one: Token, now: datetime) -> tuple[str | None, ...]:
    state = "revoked" if one.revoked_at else "valid" if one.is_valid(now) else "ended"
    used = "never" if one.last_used_day is None else one.last_used_day.isoformat()
    ends = f"{one.expires_at:%Y-%m-%d}"
    return (one.id, one.user, one.role.value, state, ends, used, one.created_by, one.note)
