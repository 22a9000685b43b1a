"""Pictures of past moments: what the collector recorded is shown as of then, and what nobody recorded is said."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from data.errors import CannotKnow
from data.history.recorder import recorded_at
from data.live import LiveCluster
from data.model import ClusterSnapshot, GpuState, JoinMethod
from tests.history.small_cluster import NOON, SmallCluster, ended, running
from tests.live.builders import make_job, make_node

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
EVERY = timedelta(minutes=5)


@pytest.fixture
def cluster(tmp_path: Path) -> SmallCluster:
    """At noon gpu01 was drained, 1 ran on its third GPU and 2 waited; two hours later all is different."""
    cluster = SmallCluster(tmp_path / "history")
    cluster.jobs = [running(1, NOON - HOUR, 2), make_job(2, None, 4, None, "PENDING", reason="Priority")]
    cluster.sources()
    drained = make_node("gpu01", "DRAINING", reason="ECC errors", reason_user="root")
    nodes = [drained]
    cluster.scheduler.nodes = lambda at=None: _rows(nodes, at)  # type: ignore[method-assign]
    cluster.scheduler.past_fault = CannotKnow("only now")
    cluster.collect()
    nodes[:] = [make_node("gpu01", "IDLE")]
    cluster.jobs, cluster.done = [], [ended(1, NOON - HOUR, NOON + HOUR)]
    cluster.now = NOON + 2 * HOUR
    cluster.collect()
    return cluster


def _rows(nodes: list[object], at: object) -> object:
    from data.model import Rows

    if at is not None:
        raise CannotKnow("only now")
    return Rows(tuple(nodes))


def picture(cluster: SmallCluster, minutes: float) -> ClusterSnapshot:
    sources = cluster.sources()
    live = LiveCluster(
        sources.scheduler,
        sources.metrics,
        sources.live._cache,
        lambda: cluster.now,
        recorder=lambda moment, name: recorded_at(cluster.directory, name, moment, every=EVERY),
    )
    return live.at(NOON + minutes * MINUTE)


def test_states_and_reasons_are_those_of_then(cluster: SmallCluster) -> None:
    shown = picture(cluster, 3)
    (node,) = shown.nodes
    assert (node.state.bucket, node.reason, node.reason_user) == ("draining", "ECC errors", "root")
    assert any("recorded at 2026-03-10 12:00:00 UTC" in text for text in shown.unknown)


def test_a_job_that_ended_meanwhile_is_on_the_gpu_that_it_held(cluster: SmallCluster) -> None:
    shown = picture(cluster, 3)
    held = [(gpu.slurm_index, gpu.join) for gpu in shown.gpus if gpu.job_ids == (1,)]
    assert held == [(2, JoinMethod.INDEX)]
    assert not any("Which GPUs" in text for text in shown.unknown)


def test_jobs_that_waited_then_are_there(cluster: SmallCluster) -> None:
    waiting = [job for job in picture(cluster, 3).jobs if job.state == "PENDING"]
    assert [(job.job_id, job.reason, job.requested.gpus) for job in waiting] == [(2, "Priority", 4)]


def test_without_a_record_near_the_moment_nothing_of_today_stands_for_then(cluster: SmallCluster) -> None:
    shown = picture(cluster, 45)
    (node,) = shown.nodes
    assert node.state.bucket == "unknown" and node.reason is None
    assert [job.job_id for job in shown.jobs] == [1]
    assert [gpu.slurm_index for gpu in shown.gpus if gpu.job_ids] == [2], "allocations hold for the whole run"
    assert any("Node states and reasons of then are not known" in text for text in shown.unknown)
    assert any("waited or were suspended then are not known" in text for text in shown.unknown)
    assert all(gpu.state is not GpuState.FREE for gpu in shown.gpus)


def test_after_the_jobs_end_its_gpu_is_nobodys(cluster: SmallCluster) -> None:
    assert not any(gpu.job_ids for gpu in picture(cluster, 61).gpus)


def test_a_job_that_nobody_saw_running_has_no_known_gpus_and_the_picture_says_so(cluster: SmallCluster) -> None:
    cluster.done.append(ended(7, NOON + 10 * MINUTE, NOON + 20 * MINUTE))
    shown = picture(cluster, 15)
    assert "Which GPUs 1 of the jobs held was not recorded." in shown.unknown


def test_a_history_that_cannot_be_read_is_no_history(cluster: SmallCluster) -> None:
    for path in cluster.directory.glob("*/*/*.parquet"):
        path.write_bytes(b"PAR1 and nothing more")
    assert picture(cluster, 3).nodes[0].state.bucket == "unknown"


def test_what_was_recorded_of_another_cluster_is_not_this_ones(cluster: SmallCluster) -> None:
    found = recorded_at(cluster.directory, "other", NOON + MINUTE, every=EVERY)
    assert found.time is None and found.nodes is None and not found.held


def test_the_record_is_found_in_the_one_file_of_an_old_day_too(cluster: SmallCluster) -> None:
    cluster.now += timedelta(days=3)
    cluster.collect()
    assert [path.name for path in cluster.directory.glob("snapshots/day=2026-03-10/*")] == ["rows.parquet"]
    assert recorded_at(cluster.directory, "demo", NOON + MINUTE, every=EVERY).time == NOON
