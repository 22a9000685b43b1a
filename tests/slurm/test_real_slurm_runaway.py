"""A runaway job in a real slurmdbd: found through both ways of reading it, as Slurm's own command finds it."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from data.cache import MemoryCache
from data.live import LiveCluster
from data.slurm.commands import CommandsSource
from data.slurm.rest import RestSource
from data.sources import NoMetrics
from tests.services.slurm import SlurmCluster, wait_until
from tests.services.slurm_past import Copy, copies

RUNAWAY = 4_242_424
BEGAN = datetime.now(UTC).replace(microsecond=0) - timedelta(days=6)


def named_by_slurm(cluster: SlurmCluster) -> list[str]:
    """What sacctmgr calls a runaway; told not to end any."""
    shown = subprocess.run(
        ["sacctmgr", "-nP", "show", "runawayjobs", "format=ID"],
        env={"PATH": "/usr/bin:/bin", "SLURM_CONF": str(cluster.conf)},
        input="n\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    return [line.strip() for line in shown.stdout.splitlines() if line.strip().isdigit()]


@pytest.mark.timeout(180)
def test_both_ways_find_the_runaway_that_slurm_names(slurm_cluster: SlurmCluster) -> None:
    wait_until(lambda: slurm_cluster.state("COMPLETED") == "COMPLETED", 60, "a job to end")
    # Its end never came, as after a crash of the database.
    with copies(slurm_cluster, [Copy(RUNAWAY, "COMPLETED", BEGAN, None)]):
        assert named_by_slurm(slurm_cluster) == [str(RUNAWAY)]
        sources: list[Any] = [CommandsSource(slurm_cluster.commands()), RestSource(slurm_cluster.rest())]
        for source in sources:
            now = datetime.now(UTC)
            live = LiveCluster(source, NoMetrics(), MemoryCache(), lambda: now, limits=(60.0, 60.0))  # noqa: B023
            assert live.snapshot().runaway == ()
            live.associations()  # waits for what is asked rarely
            now += timedelta(minutes=11)
            found = wait_for_runaway(live)
            assert [(job.job_id, job.start_time, job.state) for job in found] == [(RUNAWAY, BEGAN, "RUNNING")]
            running = {job.job_id for job in source.accounted_running().rows}
            assert RUNAWAY in running and slurm_cluster.jobs["COMPLETED"] not in running
            assert {job.job_id for job in source.jobs().rows if job.is_running} <= running


def wait_for_runaway(live: LiveCluster) -> tuple[Any, ...]:
    wait_until(lambda: bool(live.snapshot().runaway), 60, "the second asking")
    return live.snapshot().runaway
