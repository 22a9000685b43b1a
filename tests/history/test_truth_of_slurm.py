"""A real Slurm and a real Prometheus, collected: reports equal what was put in, past moments what sacct says."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.model import Role, Viewer
from data.queries.history import Group, ReportQuery, report
from data.queries.live import snapshot
from data.sources import Sources, open_sources
from settings import Settings
from tests.end_to_end.real_cluster import held
from tests.services.prometheus import PrometheusServer, metric
from tests.services.slurm import SlurmCluster, wait_until
from tests.services.slurm_past import Copy, copies

pytestmark = pytest.mark.timeout(300)  # the first one waits for the whole cluster and its jobs

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
STAFF = Viewer("root", Role.STAFF)
RUN, INTERVAL = "truth-of-slurm", 30
HOUR = timedelta(hours=1)
BEGIN = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - 7 * HOUR


@dataclass(frozen=True)
class Past:
    """A job of the past: `halves` is the utilization (percent) of its GPUs in both halves, None = not measured."""

    copy: Copy
    gpus: int
    halves: tuple[int, int] | None

    def samples(self, gpu: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of one of its GPUs, each scraped at a moment of its own."""
        start, end = self.copy.start.timestamp(), self.copy.end.timestamp()
        times = np.arange(start + gpu % INTERVAL, end, INTERVAL)
        first, second = self.halves or (0, 0)
        return times, np.where(times < (start + end) / 2, first, second).astype(float)

    def hours(self, since: datetime, until: datetime) -> tuple[float, float, float]:
        """GPU-hours allocated, measured and used inside a range, from the samples alone."""
        start, end = max(self.copy.start, since), min(self.copy.end, until)
        length = max(0.0, (end - start) / HOUR)
        if not length or self.halves is None:
            return self.gpus * length, 0.0, 0.0
        used = 0.0
        for gpu in range(self.gpus):
            times, values = self.samples(gpu)
            inside = (times >= start.timestamp()) & (times < end.timestamp())
            used += float(values[inside].mean()) / 100 * length
        return self.gpus * length, self.gpus * length, used


def past(number: int, source: str, gpus: int, span: tuple[float, float], halves: tuple[int, int] | None) -> Past:
    """From and to these minutes after BEGIN."""
    start, end = (BEGIN + timedelta(minutes=edge) for edge in span)
    return Past(Copy(5_000_000 + number, source, start, end), gpus, halves)


PAST = (
    past(1, "COMPLETED", 1, (7.2, 151.5), (40, 80)),
    past(2, "FAILED1", 2, (20, 200.4), (0, 0)),
    past(3, "MULTINODE", 16, (61.3, 310), (95, 30)),
    past(4, "FAILED137", 1, (100, 220), None),
    past(5, "COMPLETED", 1, (230, 330.7), (10, 60)),
)


@dataclass(frozen=True)
class Collected:
    cluster: SlurmCluster
    folder: Path
    settings: Settings
    watched: int
    gpus: frozenset[tuple[str, int]]

    def sources(self) -> Sources:
        return open_sources(self.settings)


@pytest.fixture(scope="module")
def collected(
    slurm_cluster: SlurmCluster, prometheus_server: PrometheusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collected]:
    """What three passes found: one while a job of two GPUs ran, two after it had ended."""
    folder = tmp_path_factory.mktemp("truth-of-slurm")
    text = settings_text(slurm_cluster, prometheus_server, folder)
    (folder / "fullwarp.toml").write_text(text)
    names = {one.copy.source for one in PAST}
    wait_until(lambda: "Unknown" not in accounted(slurm_cluster, "End", *names), 90, "the jobs that are copied to end")
    write_samples(slurm_cluster, prometheus_server)
    with copies(slurm_cluster, [one.copy for one in PAST]):
        options = ("-J", "watched", "--reservation=workshop", "--gres=gpu:h100:2", "-t", "5", "-o", "/dev/null")
        sleep = ("--wrap", "sleep 5")
        job = int(slurm_cluster.run("sbatch", "--parsable", "-D", "/tmp", *options, *sleep, user="erin"))
        wait_until(lambda: job in held(slurm_cluster).values(), 30, "the job to run")
        gpus = frozenset(place for place, holder in held(slurm_cluster).items() if holder == job)
        assert collect(folder)["running"] > 0
        wait_until(lambda: job not in held(slurm_cluster).values(), 60, "the job to end")
        collect(folder)
        settings = Settings.model_validate(
            {
                "slurm": {"kind": "commands", "conf": str(slurm_cluster.conf)},
                "metrics": {"kind": "none"},
                "cache": {"kind": "memory"},
                "history": {"directory": folder / "history"},
            }
        )
        yield Collected(slurm_cluster, folder, settings, job, gpus)


def settings_text(cluster: SlurmCluster, server: PrometheusServer, folder: Path) -> str:
    return f"""
[slurm]
kind = "commands"
conf = "{cluster.conf}"
[metrics]
url = "{server.url}"
selector = 'run="{RUN}"'
scrape_interval_seconds = {INTERVAL}
[history]
directory = "{folder}/history"
"""


def write_samples(cluster: SlurmCluster, server: PrometheusServer) -> None:
    """What dcgm-exporter would have: a series for each GPU of each measured job."""
    for one in PAST:
        nodes = accounted(cluster, "NodeList", one.copy.source)[0]
        names = cluster.run("scontrol", "show", "hostnames", nodes).split()
        for gpu in range(one.gpus if one.halves else 0):
            node, index = names[gpu % len(names)], str(gpu // len(names))
            labels = {"Hostname": node, "gpu": index, "UUID": f"GPU-{node}-{index}", "modelName": "NVIDIA H100 80GB"}
            times, values = one.samples(gpu)
            series = metric("DCGM_FI_DEV_GPU_UTIL", **labels, hpc_job=str(one.copy.job_id))
            server.write([(series, times.tolist(), values.tolist())], run=RUN)


def accounted(cluster: SlurmCluster, column: str, *names: str) -> list[str]:
    """A column of sacct for jobs of the scripts."""
    ids = ",".join(str(cluster.jobs[name]) for name in names)
    return cluster.run("sacct", "-a", "-n", "-X", "-P", "-j", ids, "-o", column).split()


def collect(folder: Path) -> Any:
    command = [FULLWARP, "--config", str(folder / "fullwarp.toml"), "collect", "--json"]
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("minutes", [(0, 420), (93.7, 241.2)], ids=["whole", "cut"])
def test_reports_are_the_truth_that_was_put_in(collected: Collected, minutes: tuple[float, float]) -> None:
    """Where the range cuts a job, its use inside comes from percents by five minutes: hence the rounding."""
    since, until = (BEGIN + timedelta(minutes=edge) for edge in minutes)
    query = ReportQuery(since, until, Group.JOB, limit=None)
    found = {row.about["job_id"]: row.hours for row in report(STAFF, collected.sources(), query).rows}
    for one in PAST:
        allocated, measured, used = one.hours(since, until)
        ours, rounding = found[one.copy.job_id], 1e-9 if since == BEGIN else 0.002 * allocated
        assert (ours.allocated, ours.measured) == pytest.approx((allocated, measured)), one
        assert (ours.used is None) == (one.halves is None), one
        assert (ours.used or 0.0) == pytest.approx(used, abs=rounding), one
    assert found[PAST[1].copy.job_id].idle == pytest.approx(PAST[1].hours(since, until)[0])


def test_the_jobs_of_ten_past_moments_are_those_that_sacct_calls_running(collected: Collected) -> None:
    born = datetime.fromtimestamp((collected.cluster.directory / "jobs.env").stat().st_mtime, UTC) - timedelta(
        minutes=1
    )
    chance, sources, now = random.Random(), collected.sources(), datetime.now(UTC)
    for since in [BEGIN] * 5 + [born] * 5:
        moment = since + chance.random() * (now - since)
        shown = {job.job_id for job in snapshot(STAFF, sources, at=moment).jobs if job.state == "RUNNING"}
        # sacct calls a job that is suspended now never running.
        assert shown - {collected.cluster.jobs["SUSP"]} == running(collected.cluster, moment), moment


def running(cluster: SlurmCluster, moment: datetime) -> set[int]:
    """The raw ids of what sacct calls running at a moment."""
    when, columns = f"{moment:%Y-%m-%dT%H:%M:%S}", ("-a", "-D", "-X", "-n", "-P", "-o", "JobIDRaw")
    return {int(line) for line in cluster.run("sacct", "-s", "R", "-S", when, "-E", when, *columns).split()}


def test_a_job_that_slurm_forgot_is_on_the_gpus_that_it_held(collected: Collected) -> None:
    start = collected.cluster.run("sacct", "-n", "-X", "-P", "-j", str(collected.watched), "-o", "Start").strip()
    then = snapshot(STAFF, collected.sources(), at=datetime.fromisoformat(f"{start}+00:00") + timedelta(seconds=1))
    shown = {(gpu.device.node, gpu.slurm_index) for gpu in then.gpus if collected.watched in gpu.job_ids}
    assert shown == collected.gpus and len(shown) == 2
