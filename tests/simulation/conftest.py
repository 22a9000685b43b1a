"""One simulated cluster for all tests of this folder, and moments spread over several weeks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from data.metrics.simulated import SimulatedMetrics
from data.model import Job, Node
from data.simulation import World
from data.slurm.simulated import SimulatedScheduler

NOW = datetime(2026, 11, 25, 14, 5, 30, tzinfo=UTC)


@pytest.fixture(scope="session")
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def world() -> World:
    return World(7)


@pytest.fixture(scope="session")
def scheduler(world: World) -> SimulatedScheduler:
    return SimulatedScheduler(world, lambda: NOW)


@pytest.fixture(scope="session")
def metrics(world: World) -> SimulatedMetrics:
    return SimulatedMetrics(world, lambda: NOW)


@dataclass(frozen=True)
class Look:
    """What Slurm showed at one moment."""

    at: datetime
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]


@pytest.fixture(scope="session")
def looks(scheduler: SimulatedScheduler) -> list[Look]:
    """200 looks at the last three weeks, at moments that fall on no regular grid, in order."""
    moments = sorted(NOW - timedelta(seconds=(i * 7919 * 7919) % (21 * 86400)) for i in range(200))
    return [Look(at, scheduler.nodes(at).rows, scheduler.jobs(at).rows) for at in moments]
