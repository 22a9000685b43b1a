"""The picture of a real Slurm: both ways of reading it hold the same GPUs, those that slurmctld's own text names."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime

import pytest

from data.cache import MemoryCache
from data.live import LiveCluster
from data.model import ClusterSnapshot, GpuState, JoinMethod, SourceCondition
from data.protocols import SchedulerSource
from data.slurm.commands import CommandsSource
from data.slurm.rest import RestSource
from data.sources import NoMetrics
from tests.services.slurm import SlurmCluster

_SHARE = re.compile(r"^\s+Nodes=(\S+) CPU_IDs=\S+ Mem=\d+ GRES=(\S*)", re.MULTILINE)
_INDICES = re.compile(r"IDX:([0-9,\-]+)")


def picture(scheduler: SchedulerSource) -> ClusterSnapshot:
    live = LiveCluster(scheduler, NoMetrics(), MemoryCache(), lambda: datetime.now(UTC), limits=(60.0, 60.0))
    return live.snapshot()


def indices(text: str) -> list[int]:
    spans = [part.split("-") for part in text.split(",")]
    return [number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)]


def held_by_text(cluster: SlurmCluster) -> Counter[tuple[str, int]]:
    """(node, index) of every running job, cut out of `scontrol show job -d` by expressions of this test."""
    found: Counter[tuple[str, int]] = Counter()
    for record in cluster.run("scontrol", "show", "job", "-d").split("\n\n"):
        if "JobState=RUNNING" not in record and "JobState=SUSPENDED" not in record:
            continue
        for nodes, gres in _SHARE.findall(record):
            for match in _INDICES.findall(gres):
                for node in cluster.run("scontrol", "show", "hostnames", nodes).split():
                    found.update((node, index) for index in indices(match))
    return found


def still(cluster: SlurmCluster) -> tuple[Counter[tuple[str, int]], ClusterSnapshot, ClusterSnapshot]:
    """What the text and both pictures say of a moment in which no job came or went."""
    for _ in range(5):
        before = held_by_text(cluster)
        by_commands = picture(CommandsSource(cluster.commands(), ""))
        by_rest = picture(RestSource(cluster.rest(), ""))
        if held_by_text(cluster) == before:
            return before, by_commands, by_rest
    raise AssertionError("the cluster never stood still")


@pytest.mark.timeout(180)
def test_both_ways_hold_the_gpus_that_slurm_names(slurm_cluster: SlurmCluster) -> None:
    before, by_commands, by_rest = still(slurm_cluster)
    assert before
    for snapshot in (by_commands, by_rest):
        held = {(gpu.device.node, gpu.slurm_index): gpu for gpu in snapshot.gpus if gpu.job_ids}
        assert set(held) == set(before)
        assert {gpu.join for gpu in held.values()} == {JoinMethod.INDEX}
        assert {gpu.state for gpu in held.values()} == {GpuState.UNMEASURED}
        assert next(s for s in snapshot.sources if s.name == "slurm").condition is SourceCondition.OK
        assert sum(not gpu.device.is_slice for gpu in snapshot.gpus) == 2 * 4 + 2 * 8
        assert sum(gpu.device.is_slice for gpu in snapshot.gpus) == 7
    assert [(g.device, g.job_ids, g.state) for g in by_commands.gpus] == [
        (g.device, g.job_ids, g.state) for g in by_rest.gpus
    ]
