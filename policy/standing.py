"""Where ladders stand by the enforcer's store; on the simulated cluster, by an enforcer that is simulated too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from data.model import SourceState
from data.sources import Sources
from policy.ladder import NO_LADDERS, Ladders
from policy.model import JobVerdict


def ladders_of(sources: Sources, every: Sequence[JobVerdict], now: datetime) -> tuple[Ladders, SourceState | None]:
    """The ladders of everybody's jobs, and the store's state while it does not answer."""
    return NO_LADDERS, None
