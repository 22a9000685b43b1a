"""The app in Open OnDemand without a server, on a real Slurm that is asked as the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.errors import NotFound
from ondemand.direct import Direct
from ondemand.files import Files
from ondemand.options import Mode, Options
from ondemand.web import Opened, make_app
from tests.services.slurm import SlurmCluster, wait_until


@pytest.fixture
def options(slurm_cluster: SlurmCluster, tmp_path: Path) -> Options:
    tmp_path.chmod(0o755)
    slurm = slurm_cluster.commands(bin_dir=slurm_cluster.bin_dir_as("alice", tmp_path))
    return Options(mode=Mode.DIRECT, slurm=slurm)


def job_ids(slurm: SlurmCluster, user: str) -> set[str]:
    return set(slurm.run("squeue", "-h", "-u", user, "-o", "%A").split())


def test_it_shows_the_jobs_that_slurm_knows_of_the_user(slurm_cluster: SlurmCluster, options: Options) -> None:
    wait_until(lambda: bool(job_ids(slurm_cluster, "alice")), 30, "a job of alice")
    direct = Direct(options, "alice")
    before = job_ids(slurm_cluster, "alice")
    rows = direct.now().jobs.rows
    after = job_ids(slurm_cluster, "alice")
    assert {row.job.user for row in rows} == {"alice"}
    assert before & after <= {str(row.job.array_job_id or row.job.job_id) for row in rows} | {
        str(row.job.job_id) for row in rows
    }


def test_nobody_else_is_on_any_page_whether_slurm_hides_them_or_not(
    slurm_cluster: SlurmCluster, options: Options
) -> None:
    wait_until(lambda: bool(job_ids(slurm_cluster, "bob")), 30, "a job of bob")
    theirs = sorted(job_ids(slurm_cluster, "bob"))[0]
    with pytest.raises(NotFound):
        Direct(options, "alice").job(theirs)
    with slurm_cluster.private_data("jobs,usage,users"):
        for path in ("/", "/cluster", f"/jobs/{theirs}"):
            app = make_app(lambda: Opened(options, Direct(options, "alice")), Files("a.css", "a.js", "t.js", "ask.js"))
            found = app.test_client().get(path)
            assert found.status_code == (404 if "jobs" in path else 200), found.text
            assert "bob" not in found.text
