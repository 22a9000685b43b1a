"""How many GPUs nobody held, and whether their nodes could have run a job, at moments of the past."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from data.errors import CannotKnow
from data.join.hardware import mig_profile
from data.join.state import open_state
from data.model import GpuState, Node, Window

if TYPE_CHECKING:
    from data.sources import Sources

LINES: Mapping[str, frozenset[GpuState]] = {
    "free": frozenset({GpuState.FREE}),
    "gone": frozenset({GpuState.DRAINED, GpuState.DOWN}),
}


@dataclass(frozen=True, slots=True)
class OpenGpus:
    """Whole GPUs by state at `time`, MIG slices are no GPUs; and the nodes that were down or drained."""

    time: datetime
    by_state: Mapping[GpuState, int]
    gone_nodes: frozenset[str] = frozenset()


def open_counts(sources: Sources, window: Window, size: int) -> Sequence[OpenGpus | None]:
    """What Slurm tells of each of `size` steps, else what was recorded; empty where nothing tells of the past."""
    ends = [window.start + timedelta(seconds=window.seconds / size * (at + 1)) for at in range(size)]
    try:
        return [counted(sources.scheduler.nodes(end).rows, end) for end in ends]
    except CannotKnow:
        return _recorded(sources, window)


def counted(nodes: Iterable[Node], time: datetime) -> OpenGpus | None:
    """What the nodes of one moment say; None where one of them does not say how many of its GPUs are held."""
    found: dict[GpuState, int] = {}
    gone: set[str] = set()
    for node in nodes:
        state = open_state(node)
        gone |= {node.name} if state in LINES["gone"] else set()
        for pool in node.gpu_pools:
            if mig_profile(pool.type):
                continue
            if pool.used is None or state is GpuState.HELD_UNKNOWN:
                return None
            found[state] = found.get(state, 0) + pool.total - pool.used
    return OpenGpus(time, found, frozenset(gone))


def lines(found: Sequence[OpenGpus | None], window: Window, size: int) -> dict[str, tuple[float | None, ...]]:
    """The last count of each step; a step without one has no value: it was not recorded, which is not 0."""
    made: dict[str, list[float | None]] = {name: [None] * size for name in LINES}
    for at, one in _by_step(found, window, size):
        for name, states in LINES.items():
            made[name][at] = float(sum(one.by_state.get(state, 0) for state in states))
    return {name: tuple(values) for name, values in made.items() if any(value is not None for value in values)}


def gone_by_step(found: Sequence[OpenGpus | None], window: Window, size: int) -> list[frozenset[str]]:
    """The nodes that were down or drained at a count of each step; none where nothing was recorded."""
    gone: list[frozenset[str]] = [frozenset()] * size
    for at, one in _by_step(found, window, size):
        gone[at] |= one.gone_nodes
    return gone


def _by_step(found: Iterable[OpenGpus | None], window: Window, size: int) -> Iterator[tuple[int, OpenGpus]]:
    for one in found:
        if one is not None and window.start < one.time <= window.end:
            yield min(size - 1, int((one.time - window.start).total_seconds() / window.seconds * size - 1e-9)), one


def _recorded(sources: Sources, window: Window) -> Sequence[OpenGpus]:
    directory = sources.settings.history.directory
    if directory is None:
        return ()
    from data.history.recorded_states import recorded_states

    cluster = sources.live.snapshot().cluster
    found = recorded_states(directory, cluster, window.start, window.end)
    return [OpenGpus(time, states, gone) for time, states, gone in found]
