"""What jobs hold adds up at any instant."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from data.simulation import World
from data.slurm.simulated import SimulatedScheduler

if TYPE_CHECKING:
    from tests.simulation.conftest import Look


def test_no_device_is_held_twice_and_no_node_gives_more_than_it_has(
    looks: list[Look],
) -> None:
    for look in looks:
        nodes = {node.name: node for node in look.nodes}
        cards: Counter[tuple[str, int]] = Counter()
        cpus: Counter[str] = Counter()
        memory: Counter[str] = Counter()
        for job in look.jobs:
            for part in job.devices:
                cards.update((part.node, index) for index in part.gpu_indices or ())
                cpus[part.node] += part.cpus or 0
                memory[part.node] += part.memory_bytes or 0
        assert max(cards.values()) == 1, look.at
        for name, node in nodes.items():
            held = sum(1 for place, _ in cards if place == name)
            assert held == (node.gpus_allocated or 0) <= node.gpus_total
            assert cpus[name] == node.allocated_cpus <= (node.cpus or 0)
            assert memory[name] == node.allocated_memory_bytes <= (node.memory_bytes or 0)


def test_no_job_runs_on_a_node_that_is_down_or_in_maintenance(
    looks: list[Look],
) -> None:
    seen: Counter[str] = Counter()
    for look in looks:
        closed = {n.name: n.state.bucket for n in look.nodes if n.state.bucket in {"down", "maint"}}
        seen.update(closed.values())
        busy = {name for job in look.jobs for name in job.nodes}
        assert not busy & closed.keys()
    assert seen["down"] > 100
    assert seen["maint"] > 0


def test_a_drained_node_lets_jobs_finish_and_takes_no_new_ones(
    world: World, scheduler: SimulatedScheduler, now: datetime
) -> None:
    since = now - timedelta(days=40)
    jobs = scheduler.finished_jobs(since, now).rows
    drains = list(world.faults.between("drain", since.timestamp(), now.timestamp()))
    finishing = 0
    for fault in drains:
        here = [job for job in jobs if fault.node in job.nodes and job.start_time and job.end_time]
        starts = [job.start_time.timestamp() for job in here if job.start_time]
        assert not [start for start in starts if fault.start <= start < fault.end]
        finishing += sum(j.start_time.timestamp() < fault.start < j.end_time.timestamp() for j in here)  # type: ignore[union-attr]
    assert len(drains) >= 6
    assert finishing > 0


def test_a_node_names_why_it_takes_no_work(looks: list[Look]) -> None:
    for look in looks:
        for node in look.nodes:
            is_out = node.state.bucket in {"down", "drained", "draining"}
            assert (
                is_out == (node.reason is not None) == (node.reason_user is not None) == (node.reason_time is not None)
            )
            assert node.reason_time is None or node.reason_time <= look.at


def test_elapsed_time_is_end_minus_start_minus_suspension(scheduler: SimulatedScheduler, now: datetime) -> None:
    suspended = 0
    for job in scheduler.finished_jobs(now - timedelta(days=10), now).rows:
        assert job.submit_time and job.eligible_time and job.start_time and job.end_time
        assert job.submit_time <= job.eligible_time <= job.start_time < job.end_time
        assert job.elapsed_seconds == (job.end_time - job.start_time).total_seconds() - job.suspended_seconds
        assert 0 < job.elapsed_seconds <= (job.time_limit_seconds or 0)
        assert job.state != "TIMEOUT" or job.elapsed_seconds == job.time_limit_seconds
        suspended += job.suspended_seconds > 0
    assert suspended > 20


def test_every_node_of_a_job_has_a_row_of_devices_and_they_sum_to_what_was_allocated(
    scheduler: SimulatedScheduler, now: datetime
) -> None:
    for job in (*scheduler.jobs().rows, *scheduler.finished_jobs(now - timedelta(days=1), now).rows):
        if job.start_time is None:
            assert job.devices == job.nodes == ()
            continue
        assert tuple(part.node for part in job.devices) == job.nodes
        assert sum(part.gpu_count or 0 for part in job.devices) == job.allocated.gpus
        assert sum(job.allocated.gpus_by_type.values()) == job.allocated.gpus
        assert sum(part.cpus or 0 for part in job.devices) == job.allocated.cpus
        assert sum(part.shards for part in job.devices) == job.allocated.shards


def test_slurm_forgets_the_indices_300_s_after_the_end(scheduler: SimulatedScheduler, now: datetime) -> None:
    known = forgotten = 0
    for job in scheduler.finished_jobs(now - timedelta(hours=2), now).rows:
        assert job.end_time is not None
        for part in job.devices:
            if not part.gpu_count:
                continue
            fresh = (now - job.end_time).total_seconds() < 300
            known += part.gpu_indices is not None
            forgotten += part.gpu_indices is None
            assert fresh or part.gpu_indices is None
    assert known > 0
    assert forgotten > 0


def test_a_weekday_looks_like_a_busy_cluster(scheduler: SimulatedScheduler, now: datetime) -> None:
    shares = []
    for day in range(28):
        at = now - timedelta(days=day)
        if at.weekday() > 4:
            continue
        nodes = [n for n in scheduler.nodes(at).rows if n.name[0] in "ha" and "mig" not in n.features]
        shares.append(sum(n.gpus_allocated or 0 for n in nodes) / sum(n.gpus_total for n in nodes))
    assert 0.82 <= sum(shares) / len(shares) <= 0.93
    assert min(shares) > 0.7


def test_nights_and_weekends_are_quieter(scheduler: SimulatedScheduler, now: datetime) -> None:
    def held(at: datetime) -> int:
        return sum(node.gpus_allocated or 0 for node in scheduler.nodes(at).rows)

    weeks = range(3)
    wednesday = sum(held(now - timedelta(weeks=week)) for week in weeks)
    sunday = sum(held(now - timedelta(weeks=week, days=3)) for week in weeks)
    assert sunday < 0.93 * wednesday


def test_every_job_runs_on_nodes_of_its_own_partition(looks: list[Look]) -> None:
    seen: Counter[str] = Counter()
    for look in looks:
        partitions = {node.name: node.partitions for node in look.nodes}
        for job in look.jobs:
            assert all(job.partition in partitions[name] for name in job.nodes), (look.at, job.display_id)
            seen[job.partition] += len(job.nodes)
    assert seen.keys() >= {"gpu", "gpu-long", "a100", "interactive", "mig", "preempt", "cpu"}
