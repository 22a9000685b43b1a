"""A real Slurm for the whole run: controller, accounting, six nodes with fake GPUs, slurmrestd, one job of every kind.

Everything is under one directory, on loopback ports found free at the start, and stopped by process id at the end.
What a crashed run left behind is stopped first.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from settings import SlurmSettings
from tests.conftest import service_missing

SCRIPTS = Path(__file__).with_name("slurm")
PROGRAMS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd", "slurmrestd", "sacct", "runuser", "setpriv")
PREFIX = "fullwarp-slurm-"
PORTS = 20
JOB_SCRIPTS = ("jobs_1_endings.sh", "jobs_2_acts.sh", "jobs_3_pending.sh")


@dataclass(frozen=True)
class SlurmCluster:
    """The running cluster. `jobs` maps the names of the job scripts (COMPLETED, ARRAY, FILL ...) to raw job ids."""

    directory: Path
    port: int
    jobs: dict[str, int] = field(default_factory=dict)
    name: str = "mini"

    @property
    def conf(self) -> Path:
        return self.directory / "etc" / "slurm.conf"

    @property
    def socket_url(self) -> str:
        return f"unix://{self.directory}/run/restd/slurmrestd.socket"

    @property
    def rest_port(self) -> int:
        return self.port + 3

    def run(self, *argv: str, user: str | None = None) -> str:
        """What a command prints, run as root or as `user`; raises when it fails."""
        command = argv if user is None else ("runuser", "-u", user, "--", *argv)
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    def token(self, user: str, lifespan_seconds: int = 3600) -> str:
        printed = self.run("scontrol", "token", f"username={user}", f"lifespan={lifespan_seconds}")
        return printed.strip().removeprefix("SLURM_JWT=")

    def commands(self, **changes: object) -> SlurmSettings:
        return SlurmSettings.model_validate({"kind": "commands", "conf": self.conf, **changes})

    def rest(self, **changes: object) -> SlurmSettings:
        """slurmrestd on its Unix socket (local authentication), unless `changes` say otherwise."""
        return SlurmSettings.model_validate({"kind": "rest", "url": self.socket_url, **changes})

    def rest_as(self, user: str, **changes: object) -> SlurmSettings:
        """slurmrestd over TCP with a token of `user`."""
        url = f"http://127.0.0.1:{self.rest_port}"
        return self.rest(**({"url": url, "user": user, "token": self.token(user)} | changes))

    def bin_dir_as(self, user: str, folder: Path) -> Path:
        """A folder of Slurm's commands that run as `user`."""
        for name in ("squeue", "scontrol", "sacct", "sacctmgr", "sprio", "sinfo", "scancel"):
            wrapper = folder / name
            wrapper.write_text(f'#!/bin/sh\nexec runuser -u {user} -- {shutil.which(name)} "$@"\n')
            wrapper.chmod(0o755)
        return folder

    def state(self, job: str) -> str:
        """The state that slurmctld gives for a job of the scripts."""
        return self.run("squeue", "-h", "-t", "all", "-j", str(self.jobs[job]), "-o", "%T").split("\n")[0]

    @contextlib.contextmanager
    def private_data(self, value: str) -> Iterator[None]:
        """Hide other people's jobs for the time of the block, in slurmctld and slurmdbd."""
        files = (self.conf, self.conf.with_name("slurmdbd.conf"))
        before = [path.read_text() for path in files]
        try:
            for path, text in zip(files, before, strict=True):
                path.write_text(f"{text}\nPrivateData={value}\n")
            self._reconfigure(lambda config: f"PrivateData             = {value.split(',')[0]}" in config)
            yield
        finally:
            for path, text in zip(files, before, strict=True):
                path.write_text(text)
            self._reconfigure(lambda config: "PrivateData             = none" in config)

    @contextlib.contextmanager
    def stopped(self, daemon: str) -> Iterator[None]:
        """Without slurmctld or slurmdbd for the time of the block."""
        os.kill(int((self.directory / "run" / f"{daemon}.pid").read_text()), signal.SIGTERM)
        try:
            yield
        finally:
            _script("cluster.sh", "start", str(self.directory), port=self.port)

    def _reconfigure(self, applied: Callable[[str], bool]) -> None:
        self.run("scontrol", "reconfigure")
        self.run("sacctmgr", "-i", "reconfigure")
        wait_until(lambda: applied(self.run("scontrol", "show", "config")), 20, "slurmctld to read its configuration")

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "SLURM_CONF": str(self.conf), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def wait_until(is_so: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for `is_so`, at most `seconds`; fails the test that waits in vain."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.2)


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[SlurmCluster]:
    """The cluster without jobs being waited for: they are submitted, the endings come in their own time."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        service_missing(f"Slurm needs {', '.join(missing)}")
    if os.geteuid() != 0:
        service_missing("a Slurm cluster needs root")
    _reset_leftovers()
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))
    directory.chmod(0o755)
    (directory / "owner.pid").write_text(str(os.getpid()))
    cluster = SlurmCluster(directory, _free_ports())
    try:
        _script("cluster.sh", "start", str(directory), port=cluster.port)
        for script in JOB_SCRIPTS:
            _script(script, str(directory))
        yield SlurmCluster(directory, cluster.port, _job_ids(directory / "jobs.env"))
    finally:
        _reset(directory)


def _script(name: str, *arguments: str, port: int = 0) -> None:
    environment = {"PATH": _path(), "HOME": "/tmp", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    environment |= {"FULLWARP_SLURM_PORT": str(port)} if port else {}
    environment |= {"FULLWARP_SLURM_KEEP_USERS": "1"} if name == "cluster.sh" and len(_clusters()) > 1 else {}
    done = _run_to_file([str(SCRIPTS / name), *arguments], environment)
    if name == "cluster.sh" and done.returncode:
        pytest.fail(f"{name} {' '.join(arguments)} ended with {done.returncode}: {done.stdout[-2000:]}")


def _run_to_file(argv: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Daemons keep the output open for ever, so that it goes to a file, not to a pipe."""
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=150, check=False
        )
        output.seek(0)
        return subprocess.CompletedProcess(argv, done.returncode, output.read())


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _job_ids(file: Path) -> dict[str, int]:
    pairs = (line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    return {name: int(value) for name, value in pairs if value.isdigit()}


def _clusters() -> list[Path]:
    return sorted(Path("/tmp").glob(f"{PREFIX}*"))


def _reset_leftovers() -> None:
    for directory in _clusters():
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((directory / "owner.pid").read_text()), 0)
            continue
        _reset(directory)


def _reset(directory: Path) -> None:
    _script("cluster.sh", "reset", str(directory))


def _free_ports() -> int:
    """The first of a row of free ports below those that the kernel gives away."""
    for _ in range(200):
        first = random.randrange(20000, 32000, PORTS)
        if all(_is_free(first + offset) for offset in range(PORTS)):
            return first
    pytest.fail(f"no {PORTS} free ports in a row")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
