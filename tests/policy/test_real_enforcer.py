"""`fullwarp enforce` against a real Slurm, Prometheus and SMTP server, killed at every place where that could harm."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from data.model import Job
from data.slurm.commands import CommandsSource
from policy.enforcer.passing import AFTER_ACCEPT, AFTER_AUDIT, AFTER_CANCEL, AFTER_COMMIT, BEFORE_AUDIT
from policy.store.audit import AuditRow, Outcome, audit_rows
from policy.store.ladders import read_ladders
from settings import StepAction
from tests.policy.enforcement_store import in_folder
from tests.services.mail import Inbox
from tests.services.prometheus import PrometheusServer, metric
from tests.services.slurm import SlurmCluster, wait_until

ROOT = Path(__file__).resolve().parents[2]
STEPS = (21, 24, 27)
"""Seconds of idleness at which a job is warned, warned again and cancelled. On a busy machine passes are many seconds
apart: were it longer than that, nobody would know that the job was idle meanwhile."""

SETTINGS = """
refresh_seconds = 5
[slurm]
{slurm}
[metrics]
url = "{prometheus}"
selector = 'run="{run}"'
scrape_interval_seconds = 1
[policy]
enforce = true
warn_only_days = 0
stop_file = "{folder}/stop"
[policy.rules.low-mean]
mode = "off"
[policy.rules.idle]
job_names = ["enforced"]
exempt_interactive_hours = ""
steps = [
  {{ action = "warn", at_minutes = 0.35 }},
  {{ action = "warn", at_minutes = 0.4 }},
  {{ action = "cancel", at_minutes = 0.45 }},
]
[enforcement]
directory = "{folder}/kept"
[mail]
host = "127.0.0.1"
port = {mail}
security = "none"
sender = "hpc@example.org"
staff = ["staff@example.org"]
address_pattern = "{{user}}@example.org"
"""


@dataclass
class Site:
    """One site with jobs of its own; `commands` and `rest` are its settings files, which ask Slurm in two ways."""

    cluster: SlurmCluster
    prometheus: PrometheusServer
    inbox: Inbox
    folder: Path
    run: str
    ids: list[int] = field(default_factory=list)

    def settings(self, kind: str) -> Path:
        ways = {
            "commands": f'kind = "commands"\nconf = "{self.cluster.conf}"',
            "rest": f'kind = "rest"\nurl = "http://127.0.0.1:{self.cluster.rest_port}"\nuser = "root"\n'
            f'token_file = "{self.folder}/token"',
        }
        file = self.folder / f"{kind}.toml"
        if not file.exists():
            (self.folder / "token").write_text(self.cluster.token("root"))
            text = SETTINGS.format(
                slurm=ways[kind],
                prometheus=self.prometheus.url,
                run=self.run,
                folder=self.folder,
                mail=self.inbox.port,
            )
            file.write_text(text)
        return file

    def submit(self, *options: str, tasks: int = 1) -> tuple[Job, ...]:
        """Jobs of erin with one GPU each in her reservation, running when they are given."""
        where = ["-J", "enforced", "--reservation=workshop", "--gres=gpu:h100:1", "-n1", "--mem=1G", "-t", "60"]
        out = ["-D", "/tmp", "-o", "/dev/null"]
        printed = self.cluster.run("sbatch", "--parsable", *where, *out, *options, "--wrap", "sleep 600", user="erin")
        self.ids.append(int(printed.split(";")[0]))
        wait_until(lambda: len(self.running()) == tasks, 30, f"job {self.ids[-1]} to run")
        return self.running()

    def running(self) -> tuple[Job, ...]:
        rows = CommandsSource(self.cluster.commands()).jobs().rows
        return tuple(row for row in rows if row.is_running and {row.job_id, row.array_job_id} & {self.ids[-1]})

    def state(self, job: Job) -> str:
        found = CommandsSource(self.cluster.commands()).job(job.display_id)
        return next(row.state for row in found if row.job_id == job.job_id)

    def measure(self, *values: tuple[Job, float]) -> None:
        """A sample a second of each job's GPU, from before its start until well after the test."""
        now = int(time.time())
        times = [float(second) for second in range(now - 30, now + 400)]
        series = [
            (
                metric(
                    "DCGM_FI_DEV_GPU_UTIL",
                    Hostname=job.nodes[0],
                    gpu=str(job.devices[0].gpu_indices[0]),
                    UUID=f"GPU-{job.nodes[0]}-{job.devices[0].gpu_indices[0]}",
                    modelName="NVIDIA H100 80GB HBM3",
                    hpc_job=str(job.job_id),
                ),
                times,
                [value] * len(times),
            )
            for job, value in values
            if job.devices[0].gpu_indices
        ]
        assert len(series) == len(values)
        self.prometheus.write(series, run=self.run)

    def enforce(self, place: str = "", kind: str = "commands", *options: str) -> subprocess.CompletedProcess[str]:
        """One pass of the command; killed at `place`."""
        command = [sys.executable, "-m", "tests.policy.killed_enforcer", place, "--config", str(self.settings(kind))]
        done = subprocess.run(
            [*command, "enforce", "--act", "--json", *options],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == (-signal.SIGKILL if place else 0), done.stdout[-1500:] + done.stderr[-1500:]
        return done

    def rows(self) -> tuple[AuditRow, ...]:
        store = in_folder(self.folder / "kept", writes=False)
        try:
            return audit_rows(store, self.cluster.name, datetime.now(UTC) - timedelta(hours=1))[::-1]
        finally:
            store.close()

    def taken(self) -> set[int]:
        """How many steps each job has behind it."""
        store = in_folder(self.folder / "kept", writes=False)
        try:
            return {len(one.taken) for one in read_ladders(store, self.cluster.name).episodes.values()}
        finally:
            store.close()

    def end(self) -> None:
        for number in self.ids:
            self.cluster.run("scancel", str(number))


@pytest.fixture
def site(
    slurm_cluster: SlurmCluster, prometheus_server: PrometheusServer, mail_inbox: Inbox, tmp_path: Path
) -> Iterator[Site]:
    made = Site(slurm_cluster, prometheus_server, mail_inbox, tmp_path, f"enforced-{time.time_ns()}")
    try:
        yield made
    finally:
        made.end()


def outcomes(rows: tuple[AuditRow, ...], step: int) -> list[Outcome | None]:
    return [row.outcome for row in rows if row.act.step == step]


def test_idle_jobs_are_warned_twice_and_cancelled_and_the_busy_ones_beside_them_live(site: Site) -> None:
    """Killed at each named place on the way: nothing is done twice but one mail, under its Message-ID; nothing is lost,
    and of the array only the idle task ends, which has the array's own id."""
    (idle,) = site.submit()
    (busy,) = site.submit()
    tasks = site.submit("--array=0-1", tasks=2)
    (own,) = [task for task in tasks if task.job_id == task.array_job_id]
    (other,) = [task for task in tasks if task is not own]
    site.measure((idle, 0.0), (busy, 80.0), (own, 0.0), (other, 70.0))
    begun = max(job.start_time for job in (idle, own) if job.start_time is not None)
    time.sleep(max(0.0, begun.timestamp() + STEPS[0] + 1 - time.time()))
    inbox = site.inbox

    site.enforce(BEFORE_AUDIT)
    assert (inbox.mails, site.rows()) == ([], ())
    site.enforce(AFTER_AUDIT)
    assert inbox.mails == [] and outcomes(site.rows(), 1) == [None, None]
    site.enforce(AFTER_ACCEPT)
    assert len(inbox.mails) == 1 and site.taken() == {0}
    site.enforce(AFTER_COMMIT)
    first, again = inbox.mails
    assert site.taken() == {1}, "the same mail again, for nobody knew whether it had been taken"
    assert (first["Message-ID"], first.as_bytes()) == (again["Message-ID"], again.as_bytes())
    assert inbox.recipients == [["erin@example.org"]] * 2
    text = first.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert idle.display_id in text and own.display_id in text and busy.display_id not in text
    assert outcomes(site.rows(), 1) == [Outcome.UNKNOWN] * 4 + [Outcome.DONE] * 2

    wait_for_step(site, 1)
    report = json.loads(site.enforce().stdout)
    assert [(line["step"], line["fate"]) for line in report["lines"]] == [(2, "done")] * 2
    assert (len(inbox.mails), site.taken()) == (3, {2})

    wait_for_step(site, 2)
    site.enforce(AFTER_AUDIT)
    assert [site.state(job) for job in (idle, own)] == ["RUNNING"] * 2
    site.enforce(AFTER_CANCEL)
    assert sorted(site.state(job) for job in (idle, own)) == ["CANCELLED", "RUNNING"]
    assert len(inbox.mails) == 3
    site.enforce(AFTER_COMMIT, "rest")
    assert len(inbox.mails) == 4, "the first end is known by the job's state, and told"
    report = json.loads(site.enforce("", "rest").stdout)
    assert [(line["step"], line["action"], line["fate"]) for line in report["lines"]] == [(3, "cancel", "done")]
    assert [site.state(job) for job in (idle, own, busy, other)] == ["CANCELLED", "CANCELLED", "RUNNING", "RUNNING"]
    report = json.loads(site.enforce().stdout)
    assert report["lines"] == [] and report["running_gpu_jobs"] >= 2
    assert len({mail["Message-ID"] for mail in inbox.mails}) == len(inbox.mails) - 1 == 4

    rows = [row for row in site.rows() if row.act.action is StepAction.CANCEL]
    done = [row for row in rows if row.outcome is Outcome.DONE]
    assert sorted(row.act.cancel_id or "" for row in done) == sorted([idle.display_id, own.display_id])
    assert all(row.told_at is not None for row in done)


def wait_for_step(site: Site, steps: int) -> None:
    """Until the notice after the step before has passed."""
    taken = max(row.settled_at for row in site.rows() if row.act.step == steps and row.settled_at is not None)
    time.sleep(max(0.0, taken.timestamp() + STEPS[steps] - STEPS[steps - 1] + 0.2 - time.time()))
