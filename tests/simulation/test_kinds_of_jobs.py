"""Every kind of job that a real cluster shows is there, in Slurm's own form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from data.model import Job
from data.slurm.job_ids import array_task_count
from data.slurm.simulated import SimulatedScheduler

if TYPE_CHECKING:
    from tests.simulation.conftest import Look


@pytest.fixture(scope="module")
def finished(scheduler: SimulatedScheduler, now: datetime) -> tuple[Job, ...]:
    return scheduler.finished_jobs(now - timedelta(days=14), now).rows


def test_all_ends_occur(finished: tuple[Job, ...]) -> None:
    states = Counter(job.state for job in finished)
    assert states.keys() == {
        "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "REQUEUED", "PREEMPTED",
    }  # fmt: skip
    assert 0.5 < states["COMPLETED"] / len(finished) < 0.8


def test_exit_codes_fit_the_states(finished: tuple[Job, ...]) -> None:
    for job in finished:
        assert job.exit_code is not None
        if job.state == "COMPLETED":
            assert (job.exit_code.status, job.exit_code.code) == ("SUCCESS", 0)
        if job.state == "FAILED":
            assert job.exit_code.code or job.exit_code.signal
        assert (job.cancelled_by is not None) == (job.state == "CANCELLED")


def test_tasks_of_an_array_share_id_submission_and_owner(finished: tuple[Job, ...]) -> None:
    arrays: dict[int, list[Job]] = defaultdict(list)
    for job in finished:
        if job.array_job_id is not None:
            assert job.display_id == f"{job.array_job_id}_{job.array_task_id}"
            arrays[job.array_job_id].append(job)
    assert len(arrays) > 50
    for tasks in arrays.values():
        assert len({task.job_id for task in tasks}) == len(tasks) == len({task.array_task_id for task in tasks})
        assert len({(task.submit_time, task.user, task.name, task.account) for task in tasks}) == 1
        assert all(task.job_id >= (task.array_job_id or 0) for task in tasks)


def test_one_task_keeps_the_id_of_its_array_as_raw_id(finished: tuple[Job, ...], scheduler: SimulatedScheduler) -> None:
    array = next(job.array_job_id for job in finished if job.array_job_id is not None)
    tasks = scheduler.job(str(array))
    assert sum(task.job_id == array for task in tasks) == 1
    assert len(tasks) > 2


def test_several_tasks_of_an_array_run_at_once(looks: list[Look]) -> None:
    most = 0
    for look in looks:
        running = Counter(job.array_job_id for job in look.jobs if job.array_job_id and job.state == "RUNNING")
        most = max([most, *running.values()])
    assert most >= 4


def test_a_waiting_array_is_one_entry_until_its_tasks_start(looks: list[Look]) -> None:
    entries = [(look, job) for look in looks for job in look.jobs if job.array_tasks is not None]
    assert len(entries) > 100
    for look, job in entries:
        assert job.state == "PENDING"
        assert job.job_id == job.array_job_id
        assert job.display_id == f"{job.job_id}_[{job.array_tasks}]"
        assert array_task_count(job.array_tasks) == job.array_task_count
        started = {j.array_task_id for j in look.jobs if j.array_job_id == job.job_id and j.start_time}
        first = int((job.array_tasks or "").split("-")[0].split("%")[0])
        assert all(task is not None and task < first for task in started)


def test_a_task_that_still_waits_in_its_array_is_found(scheduler: SimulatedScheduler) -> None:
    waiting = [job for job in scheduler.jobs().rows if job.array_tasks is not None]
    assert waiting
    for job in waiting:
        last = re.findall(r"\d+", (job.array_tasks or "").partition("%")[0])[-1]
        assert [found.display_id for found in scheduler.job(f"{job.job_id}_{last}")] == [job.display_id]


def test_a_het_job_has_a_gpu_part_and_a_cpu_part_that_run_together(looks: list[Look]) -> None:
    seen = 0
    for look in looks:
        parts: dict[int, list[Job]] = defaultdict(list)
        for job in look.jobs:
            if job.het_job_id is not None:
                parts[job.het_job_id].append(job)
        for leader_id, members in parts.items():
            leader, other = sorted(members, key=lambda job: job.het_offset or 0)
            assert (leader.job_id, other.job_id) == (leader_id, leader_id + 1)
            assert (leader.display_id, other.display_id) == (f"{leader_id}+0", f"{leader_id}+1")
            assert (leader.state, leader.start_time, leader.user) == (other.state, other.start_time, other.user)
            assert (leader.allocated.gpus or 0) > 0 or leader.state == "PENDING"
            assert not other.allocated.gpus
            assert all(name.startswith("c") for name in other.nodes)
            seen += leader.start_time is not None
    assert seen > 20


def test_attempts_of_a_requeued_job_keep_the_id_and_do_not_overlap(finished: tuple[Job, ...]) -> None:
    again = {(job.job_id, job.restart_count): job for job in finished}
    checked = 0
    for job in finished:
        if not job.restart_count or (job.job_id, job.restart_count - 1) not in again:
            continue
        before = again[(job.job_id, job.restart_count - 1)]
        assert before.state in {"REQUEUED", "PREEMPTED", "NODE_FAIL"}
        assert before.end_time is not None and job.submit_time is not None
        assert before.end_time < job.submit_time
        assert (before.user, before.name, before.allocated) == (job.user, job.name, job.allocated)
        checked += 1
    assert checked > 20
    assert any(job.state == "NODE_FAIL" for job in finished if (job.job_id, job.restart_count + 1) in again)


def test_jobs_are_suspended_now_and_then(looks: list[Look]) -> None:
    suspended = [(look, job) for look in looks for job in look.jobs if job.state == "SUSPENDED"]
    assert len(suspended) > 50
    assert any(job.allocated.gpus for _, job in suspended)
    for look, job in suspended:
        assert job.suspend_time is not None and job.start_time is not None
        assert job.start_time < job.suspend_time <= look.at
        ran = (job.suspend_time - job.start_time).total_seconds()
        assert job.elapsed_at(look.at) == job.elapsed_seconds == ran


def test_shards_share_a_gpu_and_are_not_gpus(looks: list[Look]) -> None:
    shared = 0
    for look in looks:
        shards = [job for job in look.jobs if job.allocated.shards]
        assert all(job.allocated.gpus == 0 and job.nodes == ("a08",) for job in shards)
        node = next(node for node in look.nodes if node.name == "a08")
        pool = node.gpu_pools[0]
        if shards:
            assert 3 not in (pool.free_indices or ()) and 3 not in (pool.used_indices or ())
        shared += len(shards) > 1
    assert shared > 10


def test_crash_loops_are_short_failures_of_one_user_in_a_row(finished: tuple[Job, ...]) -> None:
    loops = Counter((job.user, job.name) for job in finished if job.state == "FAILED" and job.elapsed_seconds < 900)  # type: ignore[operator]
    assert loops.most_common(1)[0][1] >= 8


def test_mig_jobs_name_their_profile(looks: list[Look]) -> None:
    slices = [job for look in looks for job in look.jobs if job.partition == "mig" and job.start_time]
    kinds = {kind for job in slices for kind in job.allocated.gpus_by_type}
    assert kinds == {"1g.10gb", "2g.20gb", "3g.40gb"}
    assert all(job.allocated.gpus == 1 for job in slices)


def test_usage_is_known_only_of_finished_jobs_and_is_plausible(finished: tuple[Job, ...], looks: list[Look]) -> None:
    assert all(job.usage.cpu_seconds is None and job.usage.memory_used_bytes is None for job in looks[0].jobs)
    for job in finished:
        if job.usage.cpu_seconds is None:
            assert (job.elapsed_seconds or 0) < 30
            continue
        assert 0 < job.usage.cpu_seconds <= (job.allocated.cpus or 0) * (job.elapsed_seconds or 0)
        assert 0 < (job.usage.memory_used_bytes or 0) <= (job.devices[0].memory_bytes or 0)
        assert job.usage.gpu_utilization is None


def test_the_organization_has_two_levels_coordinators_and_60_people(scheduler: SimulatedScheduler) -> None:
    rows = scheduler.associations().rows
    parents = {row.account: row.parent for row in rows if row.user is None}
    people = {row.user for row in rows if row.user not in (None, "root")}
    assert len(people) == 60
    leaves = {row.account for row in rows if row.user not in (None, "root") and not row.is_coordinator}
    assert all(parents[parents[account] or ""] in ("root", None) for account in leaves)
    assert any(parents[parents[account] or ""] == "root" for account in leaves)
    assert sum(row.is_coordinator for row in rows) >= 14
    assert {row.admin_level for row in rows if row.user == "mtanaka"} == {"Administrator"}


def test_the_hardware_is_as_described(scheduler: SimulatedScheduler) -> None:
    nodes = scheduler.nodes().rows
    kinds = Counter(
        (pool.type, pool.total) for node in nodes for pool in node.gpu_pools if node.name < "a09" or node.name > "c"
    )
    assert (kinds[("h100", 8)], kinds[("a100", 4)]) == (42, 8)
    assert sum(node.gpus_total for node in nodes if node.name in ("a09", "a10")) == 34
    assert sum(not node.gpu_pools for node in nodes) == 20
    members = {name for partition in scheduler.partitions().rows for name in partition.nodes}
    assert members == {node.name for node in nodes}
