"""Why jobs wait agrees with what is free, held, broken and reserved at that moment."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from data.model import Job, Node
from data.slurm.simulated import SimulatedScheduler

if TYPE_CHECKING:
    from tests.simulation.conftest import Look


def _free(node: Node, job: Job) -> int:
    if not job.requested.gpus and not job.requested.shards:
        return (node.cpus or 0) - (node.allocated_cpus or 0)
    return sum(len(pool.free_indices or ()) for pool in node.gpu_pools)


def _fits(job: Job, nodes: tuple[Node, ...]) -> bool:
    count = job.requested.nodes or 1
    each = (job.requested.gpus or job.requested.shards or job.requested.cpus or 1) // count
    usable = [node for node in nodes if job.partition in node.partitions and node.state.schedulable]
    usable = [node for node in usable if node.state.base != "DOWN"]
    return sum(_free(node, job) >= each for node in usable) >= count


def test_all_usual_reasons_occur(looks: list[Look]) -> None:
    reasons = Counter((job.reason or "").split(",")[0] for look in looks for job in look.jobs if job.state == "PENDING")
    assert reasons.keys() >= {
        "Resources", "Priority", "Dependency", "BeginTime", "JobArrayTaskLimit", "QOSMaxGRESPerUser",
        "AssocGrpGRES", "ReqNodeNotAvail",
    }  # fmt: skip
    assert reasons["None"] < 0.05 * reasons.total()
    assert 15 < reasons.total() / len(looks) < 120


def test_jobs_wait_for_resources_only_when_they_would_not_fit(looks: list[Look]) -> None:
    checked = 0
    for look in looks:
        for job in look.jobs:
            if job.reason == "Resources" and job.het_offset != 1:
                assert not _fits(job, look.nodes), (look.at, job.display_id)
                checked += 1
    assert checked > 30


def test_priority_needs_a_more_urgent_job_in_the_same_partition(looks: list[Look]) -> None:
    for look in looks:
        first = {}
        for job in look.jobs:
            if job.reason == "Resources":
                first[job.partition] = max(first.get(job.partition, 0), job.priority or 0)
        for job in look.jobs:
            if job.reason == "Priority" and job.het_offset != 1:
                assert (job.priority or 0) <= first[job.partition]


def test_a_dependency_names_a_job_that_is_not_over(looks: list[Look]) -> None:
    waiting = 0
    for look in looks:
        alive = {job.job_id for job in look.jobs}
        for job in look.jobs:
            if job.reason == "Dependency":
                assert job.dependency is not None
                assert int(job.dependency.split(":")[1].split("(")[0]) in alive
                waiting += 1
            else:
                assert job.dependency is None
    assert waiting > 20


def test_begin_time_means_not_yet_eligible(looks: list[Look]) -> None:
    for look in looks:
        for job in look.jobs:
            if job.reason == "BeginTime":
                assert job.eligible_time is not None and job.eligible_time > look.at


def test_limits_bind_users_and_accounts_that_hold_something(looks: list[Look]) -> None:
    for look in looks:
        users = {job.user for job in look.jobs if job.start_time}
        accounts = {job.account for job in look.jobs if job.start_time}
        for job in look.jobs:
            assert not (job.reason or "").startswith("QOSMax") or job.user in users
            assert not (job.reason or "").startswith("AssocGrp") or job.account in accounts


def test_nodes_that_are_not_available_are_broken_or_reserved(looks: list[Look]) -> None:
    for look in looks:
        out = {node.name for node in look.nodes if not node.state.schedulable or node.state.base == "DOWN"}
        for job in look.jobs:
            if (job.reason or "").startswith("ReqNodeNotAvail, Unavailable"):
                assert set((job.reason or "").split(":")[1].split(",")) <= out
                assert job.requested_nodes is not None


def test_expected_starts_lie_ahead_and_details_add_up(scheduler: SimulatedScheduler) -> None:
    details = {detail.display_id: detail for detail in scheduler.pending_details().rows}
    waiting = [job for job in scheduler.jobs().rows if job.state == "PENDING"]
    assert {job.display_id for job in waiting} == details.keys()
    for job in waiting:
        detail = details[job.display_id]
        assert detail.expected_start_time == job.expected_start_time
        assert detail.priority == job.priority
        assert abs(sum(value for _, value in detail.priority_parts) - (detail.priority or 0)) < 1


def test_expected_starts_are_in_the_future(looks: list[Look]) -> None:
    known = 0
    for look in looks:
        for job in look.jobs:
            if job.expected_start_time is not None:
                assert job.state == "PENDING"
                assert look.at < job.expected_start_time < look.at + timedelta(days=5)
                known += 1
    assert known > 100


def test_a_maintenance_is_always_announced(scheduler: SimulatedScheduler) -> None:
    rows = scheduler.reservations().rows
    assert rows
    assert all(row.is_maintenance and row.nodes and "MAINT" in row.flags for row in rows)
