"""Where ladders stand: by the enforcer's store; on the simulated cluster, by a simulated enforcer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from data.errors import FullwarpError
from data.model import SourceState
from data.sources import Sources
from policy.ladder import Ladders, of_these_rules
from policy.model import JobVerdict
from policy.rules import rules_of
from policy.simulated import PASS, is_simulated, next_pass, simulated_ladders
from policy.store.reading import ladders_now

if TYPE_CHECKING:
    from data.state.store import StateStore


def standing(
    sources: Sources, cluster: str, every: Sequence[JobVerdict], now: datetime
) -> tuple[Ladders, SourceState | None]:
    """The ladders of everybody's jobs, and the store's state while it does not answer."""
    if is_simulated(sources):
        return simulated_ladders(sources, every, now), None
    ladders, state = ladders_now(sources, cluster)
    return of_these_rules(ladders, rules_of(sources.settings.policy), now), state


def last_run(sources: Sources, now: datetime) -> datetime | None:
    """When the last pass that acts ended; None where none did, or where it cannot be read."""
    if is_simulated(sources):
        return next_pass(now - PASS)
    try:
        return sources.enforcement.read(sources.settings.enforcement, _last_pass)
    except FullwarpError:
        return None


def _last_pass(store: StateStore) -> datetime | None:
    from policy.enforcer.last_pass import last_pass

    with store.connection() as connection:
        return last_pass(connection)
