"""Cancellation and comments against a real Slurm, by its commands and by slurmrestd: the right job, and only that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from data.model import Job
from data.slurm.commands import CommandsSource
from data.slurm.rest import RestSource
from data.sources import open_sources
from policy.actions.cancel import Canceller
from policy.actions.comment import Commenter
from policy.actions.outcome import Refused, Unsettled
from policy.decide import cancel_id
from policy.enforcer.looking import LiveLooking
from settings import MetricsSettings, Settings, SlurmSettings
from tests.services.fault_proxy import FaultProxy
from tests.services.slurm import SlurmCluster, wait_until

SMALL = ("-p", "cpu", "-n", "1", "--mem=50M", "-t", "10", "-o", "/dev/null", "--wrap", "sleep 600")


class Jobs:
    """Jobs of one test: submitted as bob, running when they are given, and gone at the end."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self.cluster = cluster
        self.source = CommandsSource(cluster.commands())
        self.ids: list[int] = []

    def submit(self, *options: str, count: int = 1, wrap: str = "") -> tuple[Job, ...]:
        arguments = [*options, *SMALL[:-1], wrap or SMALL[-1]]
        number = int(self.cluster.run("sbatch", "--parsable", "-D", "/tmp", *arguments, user="bob").split(";")[0])
        self.ids.append(number)
        wait_until(lambda: len(self._running(number)) == count, 30, f"job {number} to run")
        return self._running(number)

    def state(self, job: Job) -> str:
        """What slurmctld says; slurmdbd may still have it as PENDING."""
        printed = self.cluster.run("squeue", "-h", "-a", "-t", "all", "-o", "%A %T").split("\n")
        return dict(line.split() for line in printed if line)[str(job.job_id)]

    def has_ended(self, *jobs: Job, state: str = "CANCELLED") -> None:
        wait_until(lambda: all(self.state(job) == state for job in jobs), 20, f"{len(jobs)} jobs to be {state}")

    def end(self) -> None:
        for number in self.ids:
            self.cluster.run("scancel", str(number))

    def _running(self, number: int) -> tuple[Job, ...]:
        ids = {number}
        rows = [row for row in self.source.jobs().rows if row.is_running]
        return tuple(row for row in rows if {row.job_id, row.array_job_id, row.het_job_id} & ids)


@pytest.fixture
def jobs(slurm_cluster: SlurmCluster) -> Iterator[Jobs]:
    made = Jobs(slurm_cluster)
    try:
        yield made
    finally:
        made.end()


def settings_of(kind: str, cluster: SlurmCluster) -> SlurmSettings:
    return cluster.commands() if kind == "commands" else cluster.rest_as("root")


def canceller(settings: SlurmSettings) -> Canceller:
    source = RestSource(settings) if settings.kind == "rest" else CommandsSource(settings)
    return Canceller(settings, source)


def cancel(settings: SlurmSettings, job: Job) -> None:
    canceller(settings).cancel(job, cancel_id(job) or "")


BOTH = pytest.mark.parametrize("kind", ["commands", "rest"])


@BOTH
def test_the_array_task_with_the_arrays_own_id_is_cancelled_alone(kind: str, jobs: Jobs) -> None:
    tasks = jobs.submit("--array=0-2", count=3)
    (meta,) = [job for job in tasks if job.job_id == job.array_job_id]
    others = [job for job in tasks if job is not meta]
    cancel(settings_of(kind, jobs.cluster), meta)
    jobs.has_ended(meta)
    assert [jobs.state(job) for job in others] == ["RUNNING", "RUNNING"]


@BOTH
def test_a_het_job_is_cancelled_as_a_whole_by_its_leader(kind: str, jobs: Jobs) -> None:
    parts = jobs.submit("-p", "gpu", "-w", "gpu01", "-n", "1", "--mem=50M", "-t", "10", ":", count=2)
    leader, other = sorted(parts, key=lambda job: job.job_id)
    cancel(settings_of(kind, jobs.cluster), leader)
    jobs.has_ended(leader, other)


def test_the_job_is_ended_on_the_cluster_that_was_read_whatever_the_environment_names(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scancel asks the controller of the settings, as squeue did a moment before: no other can have the job."""
    (job,) = jobs.submit()
    for name, value in (("SLURM_CLUSTERS", "elsewhere"), ("SCANCEL_USER", "alice"), ("SCANCEL_STATE", "PENDING")):
        monkeypatch.setenv(name, value)
    cancel(jobs.cluster.commands(), job)
    monkeypatch.undo()
    jobs.has_ended(job)


def test_an_account_without_the_right_is_refused_and_the_job_lives(jobs: Jobs, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (job,) = jobs.submit()
    commands = jobs.cluster.commands(bin_dir=jobs.cluster.bin_dir_as("alice", tmp_path))
    for settings in (commands, jobs.cluster.rest_as("alice"), jobs.cluster.rest_as("root", token="x.y.z")):
        with pytest.raises(Refused):
            cancel(settings, job)
    assert jobs.state(job) == "RUNNING"


@BOTH
def test_a_job_that_ended_by_itself_was_not_cancelled(kind: str, jobs: Jobs) -> None:
    (job,) = jobs.submit(wrap="sleep 1")
    jobs.has_ended(job, state="COMPLETED")
    with pytest.raises(Refused, match="had ended by itself: COMPLETED"):
        cancel(settings_of(kind, jobs.cluster), job)


def test_another_id_than_the_jobs_own_is_never_sent(jobs: Jobs) -> None:
    tasks = jobs.submit("--array=0-1", count=2)
    asked = canceller(jobs.cluster.commands())
    for wanted in (str(tasks[0].array_job_id), str(tasks[0].job_id), "", tasks[1].display_id):
        with pytest.raises(Refused, match="for Slurm, not"):
            asked.cancel(tasks[0], wanted)
    assert [jobs.state(job) for job in tasks] == ["RUNNING", "RUNNING"]


def test_what_slurm_does_not_answer_is_unsettled(jobs: Jobs, tmp_path: Path) -> None:
    """One that was cut off did not end; one whose answer came too late did: only the job's state can tell."""
    (job,) = jobs.submit()
    conf = jobs.cluster.conf.read_text().replace(f"SlurmctldPort={jobs.cluster.port + 2}", "SlurmctldPort=1")
    (tmp_path / "slurm.conf").write_text(conf)
    with pytest.raises(Unsettled):
        cancel(jobs.cluster.commands(conf=tmp_path / "slurm.conf", timeout_seconds=2), job)
    with FaultProxy("127.0.0.1", jobs.cluster.rest_port) as proxy:
        proxy.delay_seconds = 1.5
        settings = jobs.cluster.rest_as("root", url=proxy.url, timeout_seconds=1, api_version="v0.0.38")
        for mode in ("cut", "garbage", "noise"):
            proxy.mode = mode
            with pytest.raises(Unsettled):
                cancel(settings, job)
        assert jobs.state(job) == "RUNNING"
        proxy.mode = "delay"
        with pytest.raises(Unsettled):
            cancel(settings, job)
    jobs.has_ended(job)


def test_a_comment_is_written_and_replaced_and_never_that_of_somebody_else(jobs: Jobs) -> None:
    plain, other = jobs.submit("--array=0-1", count=2)
    writer = Commenter(jobs.cluster.commands(), jobs.source)
    for text in ("warn, step 1", "cancel\nAdminComment=x, 'step' \"2\""):
        assert writer.comment(plain, text)
    assert comments(jobs, (plain, other)) == ["fullwarp: cancel AdminComment=x, 'step' \"2\"", None]
    jobs.cluster.run("scontrol", "update", f"jobid={other.display_id}", "AdminComment=JS1:H4sIAAAA")
    assert not writer.comment(other, "warn")
    assert comments(jobs, (other,)) == ["JS1:H4sIAAAA"]
    rest = jobs.cluster.rest_as("root")
    with pytest.raises(Refused, match=r"v0\.0\.38 cannot set"):
        Commenter(rest, RestSource(rest)).comment(plain, "warn")
    cancel(jobs.cluster.commands(), plain)
    with pytest.raises(Refused, match="does not run any more"):
        writer.comment(plain, "warn")


def comments(jobs: Jobs, rows: Sequence[Job]) -> list[str | None]:
    live = {row.job_id: row.admin_comment for row in jobs.source.jobs().rows}
    return [live[job.job_id] for job in rows]


@pytest.mark.timeout(420)
def test_a_requeued_job_that_ended_is_known_as_the_attempt_that_it_was(jobs: Jobs) -> None:
    """slurmdbd keeps no restart count before Slurm 23.11: by it, what was cancelled would be gone without a trace."""
    tries = (run_twice(jobs) for _ in range(3))
    first, second = next((pair for pair in tries if pair is not None), (None, None))
    assert first is not None and second is not None, jobs.cluster.run("scontrol", "show", "job")
    cancel(jobs.cluster.commands(), second)
    jobs.has_ended(second)
    looking = LiveLooking(
        open_sources(Settings(slurm=jobs.cluster.commands(), metrics=MetricsSettings(url="http://127.0.0.1:9")))
    )
    for attempt, state in ((second, "CANCELLED"), (first, "REQUEUED")):  # the accounting follows after a while
        wait_until(partial(is_known_as, looking, attempt, state), 60, f"an attempt that is {state}")


def run_twice(jobs: Jobs) -> tuple[Job, Job] | None:
    """Both attempts of a job that is requeued; None where Slurm does not take it up again within a minute and a half,
    as it does where the end of the first attempt is slow to be confirmed by the node."""
    (first,) = jobs.submit("--requeue")
    jobs.cluster.run("scontrol", "requeue", str(first.job_id))
    jobs.has_ended(first, state="PENDING")
    # Slurm lets it wait for two minutes; asked again and again, it would begin to plan anew each time.
    jobs.cluster.run("scontrol", "update", f"jobid={first.job_id}", "StartTime=now")
    until = time.monotonic() + 90
    while time.monotonic() < until:
        rows = [row for row in jobs.source.jobs().rows if row.job_id == first.job_id]
        if again := [row for row in rows if row.is_running and row.restart_count == 1]:
            return first, again[0]
        time.sleep(0.5)
    return None


def is_known_as(looking: LiveLooking, attempt: Job, state: str) -> bool:
    found = looking.known(attempt)
    return found is not None and found.state == state
