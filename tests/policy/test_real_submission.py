"""The script of `fullwarp job-submit-lua` inside a real slurmctld: who is refused, and what they read."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

import pytest

from policy.submission import job_submit_lua
from settings import SubmissionSettings
from tests.services.slurm import SlurmCluster, wait_until

LIMITS = SubmissionSettings(
    limits={
        "gpu": {"max_cores_per_gpu": 8, "max_memory_gib_per_gpu": 60, "min_gpus_per_node": 4},
        "*": {"max_cores_per_gpu": 2},
    },
    exempt_users=["erin"],
    more="See https://hpc.example.org/limits",
)
CORES, MEMORY, SPREAD = "more than 8 per GPU", "more than 60 GiB per GPU", "less than 4 on each node"


@contextlib.contextmanager
def _script_in(cluster: SlurmCluster, text: str) -> Iterator[None]:
    """With the plugin and this script for the time of the block."""
    script, before = cluster.conf.with_name("job_submit.lua"), cluster.conf.read_text()
    try:
        script.write_text(text)
        cluster.conf.write_text(f"{before}\nJobSubmitPlugins=lua\n")
        _reconfigure(cluster, "lua")
        yield
    finally:
        cluster.conf.write_text(before)
        _reconfigure(cluster, "(null)")
        script.unlink()


def _reconfigure(cluster: SlurmCluster, plugins: str) -> None:
    cluster.run("scontrol", "reconfigure")
    shown = f"JobSubmitPlugins        = {plugins}"
    wait_until(lambda: shown in cluster.run("scontrol", "show", "config"), 20, "slurmctld to read its configuration")


def _asked(cluster: SlurmCluster, user: str, *words: str) -> str:
    """What a user reads of a request that only is tried; "" = it would be let through."""
    try:
        cluster.run("sbatch", "--test-only", "--time=5", *words, "--wrap=true", user=user)
    except subprocess.CalledProcessError as err:
        return str(err.stderr)
    return ""


@pytest.fixture(scope="module")
def limited(slurm_cluster: SlurmCluster) -> Iterator[SlurmCluster]:
    with _script_in(slurm_cluster, job_submit_lua(LIMITS)):
        yield slurm_cluster


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-p", "gpu", "--gpus=1", "--cpus-per-task=9"), f"9 cores for 1 GPU is {CORES}, the limit of partition gpu"),
        (("--gres=gpu:a100:1", "--cpus-per-task=9"), "the limit of partition gpu"),
        (("-p", "gpu", "--gpus-per-node=a100:2", "--ntasks=17"), "17 cores for 2 GPUs"),
        (("-p", "gpu", "--gpus=1", "--cpus-per-gpu=9"), CORES),
        (("-p", "gpu", "--ntasks=2", "--gpus-per-task=1", "--cpus-per-task=9"), "18 cores for 2 GPUs"),
        (("-p", "gpu", "--gpus=1", "--mem=61G"), MEMORY),
        (("-p", "gpu", "--gpus=1", "--mem-per-gpu=61G"), MEMORY),
        (("-p", "gpu", "--gpus=1", "-c", "4", "--mem-per-cpu=16G"), "64 GiB of CPU memory for 1 GPU"),
        (("-p", "gpu", "-N", "2", "--gpus-per-node=1"), f"2 GPUs on 2 nodes is {SPREAD}"),
        (("-p", "mig", "--gpus=1", "-c", "3"), "more than 2 per GPU, the limit of partition mig"),
    ],
)
def test_slurm_refuses_what_is_beyond_a_limit_and_says_what_to_do(
    limited: SlurmCluster, words: tuple[str, ...], says: str
) -> None:
    told = _asked(limited, "alice", *words)
    assert says in told
    assert "Ask for" in told
    assert LIMITS.more in told


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "gpu", "--gpus=1", "--cpus-per-task=8", "--mem=60G"),
        ("-p", "gpu", "--gpus=2", "--cpus-per-task=16"),
        ("-p", "gpu", "-N", "2", "--gpus-per-node=4"),
        ("-p", "gpu", "-N", "1", "--gpus=2"),
        ("-p", "cpu", "-c", "64", "--mem=200G"),
        ("-p", "gpu", "-c", "64"),
    ],
)
def test_slurm_lets_through_what_is_within_the_limits(limited: SlurmCluster, words: tuple[str, ...]) -> None:
    assert _asked(limited, "alice", *words) == ""


def test_exempt_users_are_let_through(limited: SlurmCluster) -> None:
    assert _asked(limited, "erin", "-p", "gpu", "--gpus=1", "--cpus-per-task=9") == ""


def test_a_job_that_is_really_submitted_is_refused_and_leaves_nothing(limited: SlurmCluster) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        limited.run("sbatch", "-J", "too-many", "-p", "gpu", "--gpus=1", "-c", "9", "--wrap=true", user="alice")
    assert CORES in refused.value.stderr
    assert limited.run("squeue", "-h", "-t", "all", "-n", "too-many") == ""


@pytest.fixture
def held(limited: SlurmCluster) -> Iterator[str]:
    """A job of alice within the limits that waits."""
    request = ("-p", "gpu", "--gres=gpu:1", "-n", "1", "--mem=1G", "--hold", "-t", "5", "-D", "/tmp", "--wrap=true")
    job = limited.run("sbatch", "--parsable", *request, user="alice").strip()
    yield job
    limited.run("scancel", job)


@pytest.mark.parametrize(
    ("change", "is_refused"),
    [
        ("NumCPUs=9", True),
        ("NumTasks=9", True),
        ("NumNodes=2", True),
        ("MinMemoryNode=70000", True),
        ("MinMemoryCPU=70000", True),
        ("NumCPUs=8", False),
        ("MinMemoryNode=50000", False),
        ("TimeLimit=3", False),
        ("Partition=cpu", False),
    ],
)
def test_a_change_beyond_a_limit_is_refused_as_the_request_would_be(
    limited: SlurmCluster, held: str, change: str, is_refused: bool
) -> None:
    asked = ("scontrol", "update", f"jobid={held}", change)
    if not is_refused:
        assert limited.run(*asked, user="alice") == ""
        return
    with pytest.raises(subprocess.CalledProcessError) as refused:
        limited.run(*asked, user="alice")
    assert "Invalid generic resource (gres) specification" in refused.value.stderr


def test_what_an_operator_changes_stands_and_its_owner_may_change_the_rest(limited: SlurmCluster, held: str) -> None:
    limited.run("scontrol", "update", f"jobid={held}", "NumCPUs=9")
    assert limited.run("scontrol", "update", f"jobid={held}", "TimeLimit=3", user="alice") == ""
