"""The batch script of one job: from Slurm's own words, from a real Slurm, and of the simulated cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from data.errors import CannotKnow
from data.model import Job
from data.simulation import World
from data.slurm.commands import CommandsSource
from data.slurm.job_scripts import question, script_in
from data.slurm.rest import RestSource
from data.slurm.simulated import SimulatedScheduler
from settings import SlurmSettings
from tests.services.slurm import SlurmCluster, wait_until

NOW = datetime(2026, 11, 28, 14, tzinfo=UTC)
RUNNING = Job("mini", 124, "123_7", "RUNNING")
ENDED = replace(RUNNING, state="COMPLETED", end_time=NOW)
RULE = "-" * 80


@pytest.mark.parametrize(
    ("job", "asked"),
    [
        (RUNNING, "scontrol write batch_script 124 -"),
        (ENDED, "sacct -B -j 123_7"),
        (replace(ENDED, display_id="123+1"), "sacct -B -j 123+1"),
        (replace(ENDED, display_id="123_[1-10%2]"), "sacct -B -j 123"),
    ],
)
def test_slurmctld_is_asked_by_raw_id_and_slurmdbd_as_people_write_it(job: Job, asked: str) -> None:
    assert " ".join(question(job)) == asked


@pytest.mark.parametrize(
    ("printed", "script"),
    [
        (f"Batch Script for 123_7\n{RULE}\n#!/bin/sh\n{RULE}\nsleep 1\n\n", f"#!/bin/sh\n{RULE}\nsleep 1\n"),
        (f"Batch Script for 1\n{RULE}\n#!/bin/sh\na\n\nBatch Script for 1\n{RULE}\n#!/bin/sh\nb\n", "#!/bin/sh\na\n"),
        (f"Batch Script for 123_7\n{RULE}\nNONE\n", None),
        ("", None),
    ],
)
def test_the_script_of_an_ended_job_stands_below_its_head(printed: str, script: str | None) -> None:
    assert script_in(printed, ENDED) == script


def test_slurmrestd_says_that_it_gives_no_scripts_and_who_does() -> None:
    source = RestSource(SlurmSettings.model_validate({"kind": "rest", "url": "http://127.0.0.1:1"}))
    with pytest.raises(CannotKnow, match="slurmrestd does not give scripts") as caught:
        source.job_script(RUNNING)
    assert "scontrol write batch_script 124 -" in caught.value.hint and source.requests == 0


def test_the_simulated_script_asks_for_what_the_job_asked_for() -> None:
    slurm = SimulatedScheduler(World(7), lambda: NOW)
    job = next(job for job in slurm.jobs().rows if job.is_batch and job.allocated.gpus and len(job.nodes) == 1)
    script = slurm.job_script(job) or ""
    assert script.startswith("#!/bin/bash\n")
    for line in (f"--job-name={job.name}", f"--gpus-per-node={job.requested.gpus}", f"--partition={job.partition}"):
        assert f"#SBATCH {line}\n" in script
    assert slurm.job_script(replace(job, is_batch=False)) is None


def test_a_real_slurm_gives_the_scripts_of_waiting_and_of_ended_jobs(slurm_cluster: SlurmCluster) -> None:
    source = CommandsSource(slurm_cluster.commands())

    def ended(kind: str) -> Job | None:
        return next((job for job in source.job(str(slurm_cluster.jobs[kind])) if job.end_time is not None), None)

    waiting = source.job(str(slurm_cluster.jobs["BEGIN"]))[0]
    assert (source.job_script(waiting) or "").startswith("#!/bin/sh\n")
    wait_until(lambda: ended("COMPLETED") is not None, 60, "a job to end")
    job = ended("COMPLETED")
    assert job is not None and "srun -n1 sleep 1; done" in (source.job_script(job) or "")
