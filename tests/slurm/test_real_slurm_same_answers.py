"""One real Slurm read through slurmrestd and through commands: the same answer from both, field by field."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from data.model import Job, JobUsage
from data.slurm.commands import CommandsSource
from data.slurm.rest import RestSource
from tests.services.slurm import SlurmCluster, wait_until

# What only one of the two can know (Slurm 22.05, v0.0.38).
ONLY_COMMANDS_KNOW = {
    "finished_jobs": {
        "user_id",  # slurmdbd's JSON has no numeric user
        "exit_code",  # slurmdbd's JSON says SUCCESS 0 of a failed job: not known
        "derived_exit_code",
        "reservation",  # 22.05 gives its number, not its name
    },
    "pending_details": {"priority_parts"},  # no sprio in slurmrestd
}
# Every name that the job scripts give out, but for DEADLINE: it never starts, and slurmdbd alone gives it an exit code.
KINDS = """
    COMPLETED FAILED1 FAILED137 SEGV STEPSEGV OOM CANCEL_RUN CANCEL_ADM CANCEL_PEND NOGPU_CPU NOGPU_GPU MIG ARRAY HET
    MULTINODE MULTINODE2 PERTASK EXCL UGLY STEPS NOREQ_FAIL REQUEUED SRUN SALLOC PTY PREEMPTED PREEMPTOR FILL FILL2
    RESOURCES PRIORITY DEPEND DEPNEVER QOSJOBS1 QOSJOBS2 QOSGRES BEGIN HELDU HELDA NODEUNAV MIGDOWN LIC1 LIC2 INRESV
    LONGMAINT SUSP BIGARRAY TIMEOUT
"""
CPU_SECONDS_TOLERANCE = 0.02  # sacct cuts each step's TotalCPU to milliseconds
TRIES = 4


@pytest.fixture(scope="module")
def rest(slurm_cluster: SlurmCluster) -> RestSource:
    return RestSource(slurm_cluster.rest())


@pytest.fixture(scope="module")
def commands(slurm_cluster: SlurmCluster) -> CommandsSource:
    return CommandsSource(slurm_cluster.commands())


def differences(
    first: Iterable[Any], second: Iterable[Any], key: Callable[[Any], Hashable], left_out: Iterable[str] = ()
) -> list[str]:
    """Each difference in words; [] when both hold the same rows with the same fields."""
    one, other = {key(row): row for row in first}, {key(row): row for row in second}
    found = [f"only in one: {name}" for name in one.keys() ^ other.keys()]
    for name in one.keys() & other.keys():
        for field in fields(one[name]):
            values = getattr(one[name], field.name), getattr(other[name], field.name)
            if field.name not in left_out and not _is_same(*values):
                found.append(f"{name} {field.name}: {values[0]!r} != {values[1]!r}")
    return found


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, JobUsage) and isinstance(other, JobUsage) and None not in (one.cpu_seconds, other.cpu_seconds):
        assert one.cpu_seconds is not None and other.cpu_seconds is not None
        close = abs(one.cpu_seconds - other.cpu_seconds) <= CPU_SECONDS_TOLERANCE
        return close and replace(one, cpu_seconds=0) == replace(other, cpu_seconds=0)
    return one == other


def assert_same(read: Callable[[], list[str]]) -> None:
    """The cluster lives on between the two readings: only a difference that stays is one."""
    for _ in range(TRIES):
        found = read()
        if not found:
            return
    pytest.fail("\n".join(found))


def by_attempt(job: Job) -> Hashable:
    return job.key


@pytest.mark.parametrize(
    ("method", "key"),
    [
        ("nodes", lambda row: row.name),
        ("jobs", by_attempt),
        ("partitions", lambda row: row.name),
        ("reservations", lambda row: row.name),
        ("associations", lambda row: (row.account, row.user)),
        ("pending_details", lambda row: row.display_id),
    ],
)
def test_both_transports_give_the_same_rows(
    rest: RestSource, commands: CommandsSource, method: str, key: Callable[[Any], Hashable]
) -> None:
    def read() -> list[str]:
        one, other = getattr(rest, method)(), getattr(commands, method)()
        assert one.rows and one.broken == other.broken == 0
        # A node's load and free memory move between two readings.
        left_out = ONLY_COMMANDS_KNOW.get(method, set()) | {"cpu_load", "free_memory_bytes"}
        return differences(one.rows, other.rows, key, left_out)

    assert_same(read)


def test_both_transports_give_the_same_finished_jobs(
    slurm_cluster: SlurmCluster, rest: RestSource, commands: CommandsSource
) -> None:
    wait_until(lambda: slurm_cluster.state("TIMEOUT") == "TIMEOUT", 120, "the time limit to be noticed")

    def read() -> list[str]:
        until = datetime.now(UTC)
        since = until - timedelta(hours=2)
        one, other = rest.finished_jobs(since, until), commands.finished_jobs(since, until)
        assert len(one.rows) > 25 and one.broken == other.broken == 0
        return differences(one.rows, other.rows, by_attempt, ONLY_COMMANDS_KNOW["finished_jobs"])

    assert_same(read)


def test_an_exit_code_that_rest_gives_is_the_one_that_sacct_gives(rest: RestSource, commands: CommandsSource) -> None:
    until = datetime.now(UTC)
    codes = {job.key: job.exit_code for job in commands.finished_jobs(until - timedelta(hours=2), until).rows}
    told = [job for job in rest.finished_jobs(until - timedelta(hours=2), until).rows if job.exit_code is not None]
    assert told and all(codes[job.key] == job.exit_code for job in told if job.key in codes)


@pytest.mark.parametrize("kind", KINDS.split())
def test_both_transports_give_the_same_job_of_every_kind(
    slurm_cluster: SlurmCluster, rest: RestSource, commands: CommandsSource, kind: str
) -> None:
    job_id = str(slurm_cluster.jobs[kind])

    def read() -> list[str]:
        one, other = rest.job(job_id), commands.job(job_id)
        assert one and [job.key for job in one] == [job.key for job in other]
        newest = differences([_comparable(one[0])], [_comparable(other[0])], by_attempt)
        # An older attempt is in slurmdbd alone.
        left_out = ONLY_COMMANDS_KNOW["finished_jobs"] if kind == "REQUEUED" else ()
        return newest + differences(map(_comparable, one), map(_comparable, other), by_attempt, left_out)

    assert_same(read)


def _comparable(job: Job) -> Job:
    """Without the cores of each node, which only scontrol's text counts (CPU_IDs)."""
    return replace(job, devices=tuple(replace(device, cpus=None) for device in job.devices))


def test_the_text_of_scontrol_and_the_json_of_squeue_give_the_same_live_jobs(slurm_cluster: SlurmCluster) -> None:
    """Slurm 20.11 has no JSON: what its text cannot say is listed here."""
    by_json, by_text = (CommandsSource(slurm_cluster.commands()) for _ in range(2))
    by_text._client.use_text("squeue")

    def read() -> list[str]:
        one, other = by_json.jobs(), by_text.jobs()
        pending = [job for job in other.rows if job.state == "PENDING"]
        found = differences([job for job in one.rows if job.state == "PENDING"], pending, by_attempt)
        # 22.05's text has one TRES= line: what was asked for is not shown once a job runs.
        return found + differences(map(_comparable, one.rows), map(_comparable, other.rows), by_attempt, {"requested"})

    assert_same(read)
