"""Where ladders stand: by the enforcer's store; on the simulated cluster, by a simulated enforcer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from data.model import SourceState
from data.sources import Sources
from policy.ladder import Ladders
from policy.model import JobVerdict
from policy.simulated import is_simulated, simulated_ladders
from policy.store.reading import ladders_now


def standing(
    sources: Sources, cluster: str, every: Sequence[JobVerdict], now: datetime
) -> tuple[Ladders, SourceState | None]:
    """The ladders of everybody's jobs, and the store's state while it does not answer."""
    if is_simulated(sources):
        return simulated_ladders(sources, every, now), None
    return ladders_now(sources, cluster)
