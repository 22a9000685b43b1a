"""What a real Slurm is known to do, seen through both transports; expectations come from the job scripts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data.errors import SourceDenied, SourceError, SourceUnreachable
from data.model import Job
from data.protocols import SchedulerSource
from data.slurm.commands import CommandsSource
from data.slurm.rest import RestSource
from tests.services.slurm import SlurmCluster, wait_until

REASONS = {
    "DEPEND": "Dependency",
    "DEPNEVER": "DependencyNeverSatisfied",
    "QOSJOBS2": "QOSMaxJobsPerUserLimit",
    "QOSGRES": "QOSMaxGRESPerUser",
    "BEGIN": "BeginTime",
    "HELDU": "JobHeldUser",
    "HELDA": "JobHeldAdmin",
    "LIC2": "Licenses",
    "BIGARRAY": "JobArrayTaskLimit",
}
ENDINGS = {
    "COMPLETED": "COMPLETED",
    "FAILED1": "FAILED",
    "FAILED137": "FAILED",
    "CANCEL_RUN": "CANCELLED",
    "CANCEL_ADM": "CANCELLED",
    "CANCEL_PEND": "CANCELLED",
    "NOREQ_FAIL": "NODE_FAIL",
    "PREEMPTED": "PREEMPTED",
    "UGLY": "COMPLETED",
    "TIMEOUT": "TIMEOUT",
}


@pytest.fixture(params=["rest", "commands", "jwt"])
def source(request: pytest.FixtureRequest, slurm_cluster: SlurmCluster) -> SchedulerSource:
    if request.param == "commands":
        return CommandsSource(slurm_cluster.commands())
    return RestSource(slurm_cluster.rest() if request.param == "rest" else slurm_cluster.rest_as("root"))


def live(source: SchedulerSource, cluster: SlurmCluster, kind: str) -> Job:
    return next(job for job in source.jobs().rows if job.job_id == cluster.jobs[kind])


def test_the_cluster_is_named_as_slurm_names_it(source: SchedulerSource) -> None:
    assert {node.cluster for node in source.nodes().rows} == {"mini"}


def test_every_node_has_its_gpus(source: SchedulerSource) -> None:
    gpus = {node.name: node.gpus_total for node in source.nodes().rows}
    assert gpus == {"gpu01": 4, "gpu02": 4, "gpu03": 8, "gpu04": 8, "mig01": 7, "cpu01": 0}


def test_drained_and_down_nodes_have_their_reasons(source: SchedulerSource) -> None:
    nodes = {node.name: node for node in source.nodes().rows}
    assert nodes["gpu02"].reason == "GPU 3 fell off the bus (Xid 79)" and not nodes["gpu02"].state.schedulable
    assert nodes["mig01"].reason == "power supply" and nodes["mig01"].state.base == "DOWN"


@pytest.mark.parametrize("kind", REASONS)
def test_a_pending_job_says_why_it_waits(source: SchedulerSource, slurm_cluster: SlurmCluster, kind: str) -> None:
    wait_until(lambda: live(source, slurm_cluster, kind).reason == REASONS[kind], 20, f"{kind} to say {REASONS[kind]}")


def test_a_job_with_a_begin_time_has_an_expected_start(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    details = {row.job_id: row for row in source.pending_details().rows}
    expected = details[slurm_cluster.jobs["BEGIN"]].expected_start_time
    assert expected is not None and expected > datetime.now(UTC) + timedelta(hours=1)
    assert live(source, slurm_cluster, "BEGIN").start_time is None


def test_commands_know_the_parts_of_a_priority(slurm_cluster: SlurmCluster) -> None:
    details = {row.job_id: row for row in CommandsSource(slurm_cluster.commands()).pending_details().rows}
    row = details[slurm_cluster.jobs["LIC2"]]
    parts = dict(row.priority_parts)
    assert {"age", "fairshare", "job_size", "partition", "qos"} <= parts.keys()
    assert row.priority == pytest.approx(sum(parts.values()), abs=len(parts))


def test_gpu_indices_are_known_while_a_job_runs_and_not_afterwards(
    source: SchedulerSource, slurm_cluster: SlurmCluster
) -> None:
    running = live(source, slurm_cluster, "FILL")
    assert [(share.node, share.gpu_indices) for share in running.devices] == [("gpu03", tuple(range(8)))]
    (ended,) = source.job(str(slurm_cluster.jobs["COMPLETED"]))
    assert [(share.gpu_count, share.gpu_indices) for share in ended.devices] == [(1, None)]


def test_no_two_running_jobs_hold_the_same_gpu(source: SchedulerSource) -> None:
    held = [
        (share.node, index)
        for job in source.jobs().rows
        if job.is_running
        for share in job.devices
        for index in share.gpu_indices or ()
    ]
    assert len(held) == len(set(held)) >= 13


def test_allocated_gpus_of_the_nodes_are_those_of_the_jobs(source: SchedulerSource) -> None:
    def is_so() -> bool:
        nodes = sum(node.gpus_allocated or 0 for node in source.nodes().rows)
        return nodes == sum(job.allocated.gpus or 0 for job in source.jobs().rows if job.is_running)

    wait_until(is_so, 20, "nodes and jobs to agree")


def test_a_suspended_job_does_not_age(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    job = live(source, slurm_cluster, "SUSP")
    now = datetime.now(UTC)
    assert job.state == "SUSPENDED" and job.start_time is not None
    assert job.elapsed_at(now) == job.elapsed_at(now + timedelta(hours=5))
    assert (job.elapsed_at(now) or 0) < 15


@pytest.mark.parametrize("kind", ENDINGS)
def test_a_finished_job_ends_as_it_was_made_to(source: SchedulerSource, slurm_cluster: SlurmCluster, kind: str) -> None:
    wait_until(lambda: slurm_cluster.state(kind) == ENDINGS[kind], 120, f"{kind} to end")
    (job,) = source.job(str(slurm_cluster.jobs[kind]))
    assert job.state == ENDINGS[kind]


def test_exit_codes_are_those_of_the_scripts(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    codes = {}
    for kind in ("COMPLETED", "FAILED1", "FAILED137"):
        (job,) = source.job(str(slurm_cluster.jobs[kind]))
        assert job.exit_code is not None
        codes[kind] = job.exit_code.code
    assert codes == {"COMPLETED": 0, "FAILED1": 1, "FAILED137": 137}


def test_a_name_with_bars_quotes_and_foreign_letters_survives(
    source: SchedulerSource, slurm_cluster: SlurmCluster
) -> None:
    (job,) = source.job(str(slurm_cluster.jobs["UGLY"]))
    assert job.name == 'a|b "q" ü,=; 名'


def test_array_tasks_are_found_by_every_name(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    array = slurm_cluster.jobs["ARRAY"]
    wait_until(lambda: len(source.job(str(array))) == 6, 60, "all tasks of the array")
    every = source.job(str(array))
    assert {job.display_id for job in every} == {f"{array}_{task}" for task in range(6)}
    (third,) = source.job(f"{array}_3")
    assert third.state == "FAILED" and third.job_id != array
    assert [job.display_id for job in source.job(str(third.job_id))] == [f"{array}_3"]


def test_a_task_that_is_not_yet_split_off_is_found(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    array = slurm_cluster.jobs["BIGARRAY"]
    (job,) = source.job(f"{array}_90")
    assert job.state == "PENDING" and job.array_job_id == array
    assert source.job(f"{array}_500") == ()


def test_parts_of_a_heterogeneous_job_are_found(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    leader = slurm_cluster.jobs["HET"]
    assert {job.display_id for job in source.job(str(leader))} == {f"{leader}+0", f"{leader}+1"}
    (second,) = source.job(f"{leader}+1")
    assert (second.job_id, second.het_offset, second.partition) == (leader + 1, 1, "cpu")


def test_a_requeued_job_has_both_attempts_newest_first(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    attempts = source.job(str(slurm_cluster.jobs["REQUEUED"]))
    assert len(attempts) == 2 and attempts[-1].state == "REQUEUED"
    newer, older = (job.submit_time for job in attempts)
    assert newer and older and newer > older
    until = datetime.now(UTC)
    finished = source.finished_jobs(until - timedelta(hours=2), until).rows
    assert attempts[-1].key in {job.key for job in finished}


def test_finished_jobs_are_those_that_ran_in_the_span_and_no_others(
    source: SchedulerSource, slurm_cluster: SlurmCluster
) -> None:
    (job,) = source.job(str(slurm_cluster.jobs["MULTINODE"]))
    assert job.start_time is not None and job.end_time is not None
    second = timedelta(seconds=1)

    def ids(since: datetime, until: datetime) -> set[int]:
        return {row.job_id for row in source.finished_jobs(since, until).rows}

    assert job.job_id in ids(job.start_time, job.end_time)
    assert job.job_id in ids(job.end_time - second, job.end_time + 60 * second)
    assert job.job_id not in ids(job.end_time, job.end_time + 60 * second)
    assert job.job_id not in ids(job.start_time - 60 * second, job.start_time)


def test_finished_jobs_have_cpu_and_memory_from_their_steps(
    source: SchedulerSource, slurm_cluster: SlurmCluster
) -> None:
    until = datetime.now(UTC)
    found = {job.job_id: job for job in source.finished_jobs(until - timedelta(hours=2), until).rows}
    usage = found[slurm_cluster.jobs["OOM"]].usage
    assert (usage.cpu_seconds or 0) > 0.05 and (usage.memory_used_bytes or 0) > 50_000_000


def test_a_job_that_does_not_exist_is_no_error(source: SchedulerSource) -> None:
    assert source.job("4000000") == source.job("4000000_1") == source.job("4000000+1") == ()


def test_reservations_and_coordinated_rights_are_read(source: SchedulerSource) -> None:
    reservations = {row.name: row for row in source.reservations().rows}
    assert reservations["maint"].is_maintenance and not reservations["workshop"].is_maintenance
    assert reservations["workshop"].users == ("erin",) and reservations["workshop"].nodes == ("gpu04",)
    levels = {row.user: row.admin_level for row in source.associations().rows}
    assert levels["erin"] == "Operator" and levels["alice"] is None
    parents = {row.account: row.parent for row in source.associations().rows if row.user is None}
    assert parents["ml"] == "physics"


def test_the_live_picture_costs_at_most_four_requests(source: SchedulerSource) -> None:
    source.nodes(), source.jobs()
    assert source.requests <= 4
    before = source.requests
    source.nodes(), source.jobs()
    assert source.requests - before == 2


def test_one_job_costs_at_most_four_requests(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    source.jobs()
    source.job(str(slurm_cluster.jobs["FILL"]))
    before = source.requests
    source.job(f"{slurm_cluster.jobs['BIGARRAY']}_90")
    assert source.requests - before <= 4


def test_health_is_good_and_names_the_version(source: SchedulerSource, slurm_cluster: SlurmCluster) -> None:
    health = source.health()
    installed = slurm_cluster.run("scontrol", "--version").split()[1]
    assert health.reachable and health.version == installed and (health.latency_seconds or 0) > 0
    assert all("expires" in note for note in health.notes)


HOSTILE = {
    "SQUEUE_USERS": "nobody",
    "SQUEUE_STATES": "FAILED",
    "SQUEUE_FORMAT": "%u",
    "SLURM_CLUSTERS": "elsewhere",
    "SACCT_FORMAT": "jobid",
    "SCONTROL_FEDERATION": "1",
    "SLURM_TIME_FORMAT": "relative",
    "TZ": "Asia/Tokyo",
    "LC_ALL": "de_DE.UTF-8",
}


def test_the_callers_environment_changes_nothing(slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    source = CommandsSource(slurm_cluster.commands())
    since, until = datetime.now(UTC) - timedelta(hours=2), datetime.now(UTC)

    def seen() -> object:
        known = {job.key for job in source.finished_jobs(since, until).rows if job.state != "CANCELLED"}
        return len(source.jobs().rows) > 15, len(source.nodes().rows), min(known, key=str)

    before = seen()
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    assert seen() == before == (True, 6, before[2])  # type: ignore[index]


def test_a_bad_token_and_none_are_denied(slurm_cluster: SlurmCluster) -> None:
    bad = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJhbGljZSJ9.eHh4"
    for settings in (slurm_cluster.rest_as("alice", token=bad), slurm_cluster.rest_as("alice", token="")):
        with pytest.raises(SourceDenied) as caught:
            RestSource(settings).jobs()
        assert "token" in caught.value.hint


def test_a_token_that_expires_soon_is_noted(slurm_cluster: SlurmCluster) -> None:
    soon = RestSource(slurm_cluster.rest_as("root", token=slurm_cluster.token("root", 1800))).health()
    late = RestSource(slurm_cluster.rest_as("root", token=slurm_cluster.token("root", 30 * 86400))).health()
    assert any("expires in 0.5 h" in note for note in soon.notes) and late.notes == ()


@pytest.fixture
def hidden(slurm_cluster: SlurmCluster) -> Iterator[SlurmCluster]:
    with slurm_cluster.private_data("jobs,nodes,usage,users"):
        yield slurm_cluster


def test_with_private_data_a_user_sees_only_own_jobs_and_is_told(hidden: SlurmCluster, tmp_path: Path) -> None:
    as_alice = CommandsSource(hidden.commands(bin_dir=hidden.bin_dir_as("alice", tmp_path)))
    over_rest = RestSource(hidden.rest_as("alice"))
    for source in (as_alice, over_rest):
        assert {job.user for job in source.jobs().rows} == {"alice"}
        assert source.job(str(hidden.jobs["FILL2"])) == ()
        assert [job.user for job in source.job(str(hidden.jobs["FILL"]))] == ["alice"]
        until = datetime.now(UTC)
        assert {job.user for job in source.finished_jobs(until - timedelta(hours=2), until).rows} == {"alice"}
        with pytest.raises(SourceDenied):
            source.nodes()
    assert any("PrivateData=" in note and "Operator" in note for note in as_alice.health().notes)


def test_an_operator_sees_all_in_spite_of_private_data(hidden: SlurmCluster) -> None:
    assert len({job.user for job in RestSource(hidden.rest_as("erin")).jobs().rows}) >= 4


def test_a_controller_that_is_away_is_unreachable_and_named(slurm_cluster: SlurmCluster, tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    lines = slurm_cluster.conf.read_text().splitlines()
    away = ("SlurmctldPort=1", "AccountingStoragePort=1", "SlurmctldTimeout=2")
    conf.write_text("\n".join([line for line in lines if not line.startswith(("SlurmctldPort", "AccountingStorageP"))]))
    with conf.open("a") as file:
        file.write("\n".join(["", *away, ""]))
    (tmp_path / "gres.conf").write_text((slurm_cluster.conf.with_name("gres.conf")).read_text())
    source = CommandsSource(slurm_cluster.commands(conf=conf, timeout_seconds=30), "mini")
    with pytest.raises(SourceUnreachable) as caught:
        source.nodes()
    assert "scontrol ping" in caught.value.hint
    with pytest.raises(SourceError):
        source.finished_jobs(datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC))


def test_a_slurmrestd_without_its_controller_says_so_and_never_that_a_job_is_unknown(
    slurm_cluster: SlurmCluster,
) -> None:
    over_rest = RestSource(slurm_cluster.rest_as("root", timeout_seconds=60))
    known = over_rest.job(str(slurm_cluster.jobs["COMPLETED"]))
    with slurm_cluster.stopped("slurmctld"):
        with pytest.raises(SourceUnreachable) as caught:
            over_rest.nodes()
        with pytest.raises(SourceUnreachable):
            over_rest.job("4000000")
        (remembered,) = over_rest.job(str(slurm_cluster.jobs["COMPLETED"]))
    assert "scontrol ping" in caught.value.hint
    assert remembered.key == known[0].key


def test_without_slurmdbd_the_live_picture_stays_and_the_history_is_an_error(
    source: SchedulerSource, slurm_cluster: SlurmCluster
) -> None:
    now = datetime.now(UTC)
    with slurm_cluster.stopped("slurmdbd"):
        assert source.nodes().rows and source.jobs().rows
        assert [job.user for job in source.job(str(slurm_cluster.jobs["FILL"]))] == ["alice"]
        with pytest.raises(SourceUnreachable):
            source.finished_jobs(now - timedelta(hours=1), now)
        assert any("slurmdbd does not answer" in note for note in source.health().notes)
