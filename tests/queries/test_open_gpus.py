"""Free and lost GPUs of the last day: counted as Slurm told or as recorded, and absent where nobody did either."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from data.errors import CannotKnow
from data.model import GpuPool, GpuState, Node, NodeState, Rows, Window
from data.open_gpus import OpenGpus, counted, gone_by_step, lines, open_counts
from tests.components.snapshots import NOON, node
from tests.history.small_cluster import NOON as COLLECTED
from tests.history.small_cluster import SmallCluster, running
from tests.live.builders import make_node

DRAINED = NodeState("IDLE", ("DRAIN",), "DRAINED", "drained", False)
DOWN = NodeState("DOWN", (), "DOWN", "down", False)
UNKNOWN = NodeState("UNKNOWN", (), "UNKNOWN", "unknown", False)
DAY = Window(NOON - timedelta(hours=24), NOON)
HOUR = timedelta(hours=1)


def test_gpus_that_nobody_holds_are_counted_by_their_node_and_slices_are_no_gpus() -> None:
    nodes = [
        node("h001", gpu_pools=(GpuPool("h100", 8, 6), GpuPool("1g.10gb", 7, 0))),
        node("h002", state=DRAINED, gpu_pools=(GpuPool("h100", 8, 1),)),
        node("h003", state=DOWN),
    ]
    found = counted(nodes, NOON)
    assert found is not None
    assert found.by_state == {GpuState.FREE: 2, GpuState.DRAINED: 7, GpuState.DOWN: 8}
    assert found.gone_nodes == {"h002", "h003"}


@pytest.mark.parametrize("changes", [{"state": UNKNOWN}, {"gpu_pools": (GpuPool("h100", 8, None),)}])
def test_a_node_that_does_not_say_leaves_the_whole_moment_out(changes: dict[str, object]) -> None:
    strange: Node = replace(node("h002"), **changes)  # type: ignore[arg-type]
    assert counted([node("h001"), strange], NOON) is None


def test_a_step_has_its_last_count_and_none_where_nothing_was_recorded() -> None:
    counts = [
        OpenGpus(NOON - 24 * HOUR, {GpuState.FREE: 99}),
        OpenGpus(NOON - 18.5 * HOUR, {GpuState.FREE: 3}),
        OpenGpus(NOON - 18 * HOUR, {GpuState.FREE: 4, GpuState.DOWN: 1, GpuState.DRAINED: 2}),
        None,
        OpenGpus(NOON, {GpuState.BUSY: 8}),
    ]
    assert lines(counts, DAY, 4) == {"free": (4.0, None, None, 0.0), "gone": (3.0, None, None, 0.0)}
    assert lines([], DAY, 4) == {}


def test_what_the_collector_recorded_makes_the_lines_where_slurm_forgot(tmp_path: Path) -> None:
    cluster = SmallCluster(tmp_path / "history")
    cluster.jobs = [running(1, COLLECTED - HOUR, 2)]
    sources = cluster.sources()
    nodes = [make_node("gpu01", "DRAINING")]
    cluster.scheduler.nodes = lambda at=None: _present(nodes, at)  # type: ignore[method-assign]
    cluster.collect()
    total, window = nodes[0].gpus_total, Window(COLLECTED - HOUR, COLLECTED + HOUR)
    found = open_counts(sources, window, 2)
    assert lines(found, window, 2) == {"free": (0.0, None), "gone": (total - 1.0, None)}
    assert gone_by_step(found, window, 2) == [{"gpu01"}, set()]
    assert open_counts(sources, Window(COLLECTED + HOUR, COLLECTED + 3 * HOUR), 2) == []


def _present(nodes: list[Node], at: object) -> object:
    if at is not None:
        raise CannotKnow("only now")
    return Rows(tuple(nodes))
