"""A whole site, started once per run: nginx with a login, `fullwarp serve` with two workers at a sub-path, Redis,
PostgreSQL, slurmrestd and Prometheus, each behind something that can take it away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from data.state.store import open_store, upgrade_store
from data.state.tokens import TokenRole, create_token
from settings import StateSettings
from tests.live.test_wire import ManyNodes, fill
from tests.services.fault_proxy import FaultProxy
from tests.services.nginx import nginx
from tests.services.ports import free_port
from tests.services.prometheus import PrometheusServer
from tests.services.relay import Relay
from tests.services.viewers import Answer, Viewers, ask, basic

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
PREFIX = "/tools/fullwarp/"
NODES, DEVICES, HELD, UTILIZATION = 4, 32, 8, 0.005
SECRET = "proxy-secret-0123456789abcdef"
SECRETS = (
    SECRET,
    "redis-password-1",
    "pg-password-22",
    "jwt-of-slurm-333",
    "bearer-of-metrics-4444",
    "scrape-token-55555",
)
PEOPLE = ("alice", "bob", "sam", "root")


class RecentJobs(ManyNodes):
    """The recorded cluster, whose jobs began an hour ago: a collector need not write the hours of months."""

    def _multiplied(self, name: str, key: str, count: int, change: Any) -> bytes:
        begun = {"start_time": {"set": True, "infinite": False, "number": int(time.time()) - 3600}}
        more = begun if key == "jobs" else {}
        return super()._multiplied(name, key, count, lambda row, number: change(row, number) | more)


class Adopted:
    """A process that is no child of this one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        return None if Path(f"/proc/{self.pid}").exists() else 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self, seconds: float) -> int:
        until = time.monotonic() + seconds
        while self.poll() is None:
            assert time.monotonic() < until, f"process {self.pid} did not end"
            time.sleep(0.05)
        return 0


@dataclass
class Server:
    """One `fullwarp serve`. `log` grows while it runs."""

    process: subprocess.Popen[bytes] | Adopted
    log: Path

    def workers(self) -> list[int]:
        """Its processes that have none of their own."""
        return [pid for pid in _children(self.process.pid) if not _children(pid)]

    def successor(self) -> Adopted:
        """The master that USR2 began."""
        (found,) = (pid for pid in _children(self.process.pid) if _children(pid))
        return Adopted(found)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)


def _entries(pid: int, name: str) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/{name}").iterdir())


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@dataclass
class WholeSite:
    """`port` is nginx's; `tcp_port` that of the second server, which wants the secret."""

    folder: Path
    port: int
    socket: Path
    tcp_port: int
    slurm: FaultProxy
    metrics: FaultProxy
    redis: Relay
    postgres: Relay
    tokens: dict[str, str] = field(default_factory=dict)
    servers: list[Server] = field(default_factory=list)

    @property
    def server(self) -> Server:
        return self.servers[0]

    def ask(self, path: str, user: str = "sam", body: object = None, **headers: str) -> Answer:
        return ask(self.port, PREFIX + path, body, **({"Authorization": basic(user)} | headers))

    def by_token(self, path: str, role: str = "staff") -> Answer:
        return ask(self.port, PREFIX + path, Authorization=f"Bearer {self.tokens[role]}")

    def own_metrics(self) -> Answer:
        """The server's own metrics, by the token that needs no store."""
        return ask(self.port, PREFIX + "api/v1/self/metrics", Authorization=f"Bearer {SECRETS[5]}")

    def held(self) -> list[tuple[int, int]]:
        """Threads and open files of each worker."""
        workers = sorted(self.server.workers())
        return [(_entries(pid, "task"), _entries(pid, "fd")) for pid in workers]

    def condition(self, source: str) -> str:
        """How a source is, by the server's own metrics."""
        lines = self.by_token("api/v1/self/metrics", "scrape").text.splitlines()
        wanted = f'source="{source}"}} 1.0'
        found = [line for line in lines if line.startswith("fullwarp_source_condition{") and line.endswith(wanted)]
        return found[0].split('condition="')[1].split('"')[0] if found else "unknown"

    def viewers(self, **more: object) -> Viewers:
        headers = {"Authorization": basic("sam")}
        paths = ("", "jobs", "_dash-update-component", "nodes", "health")
        return Viewers(self.port, PREFIX, **({"headers": headers, "paths": paths} | more))  # type: ignore[arg-type]

    def api_viewers(self, **more: object) -> Viewers:
        """Scripts that read the numbers, each checked."""
        headers = {"Authorization": f"Bearer {self.tokens['staff']}"}
        return Viewers(self.port, PREFIX, right_numbers, ("api/v1/status",), 2, headers=headers, **more)  # type: ignore[arg-type]


def is_little(held: list[tuple[int, int]]) -> bool:
    """Whether no worker holds more than its eight request threads, some of its own, and a connection for each."""
    return all(threads <= 32 and files <= 64 for threads, files in held)


def right_numbers(path: str, answer: Answer) -> str | None:
    """Whether the status says what is so, or says that it is not known."""
    if answer.status != 200:
        return None
    totals = answer.json["totals"]["use"]
    gpus, use = totals["gpus"]["total"], totals["utilization"]
    is_right = gpus == DEVICES and (use is None or abs(use - UTILIZATION) < 1e-9)
    return None if is_right else f"{gpus} GPUs at {use}"


@contextmanager
def serving(site: WholeSite, name: str, **variables: str) -> Iterator[Server]:
    """Another `fullwarp serve` of the site, with these variables over its settings."""
    log = site.folder / f"{name}.log"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FULLWARP_")}
    with log.open("ab") as out:
        process = subprocess.Popen(
            [FULLWARP, "--config", str(site.folder / "serve.toml"), "serve"],
            cwd=site.folder,
            env=environment | {"XDG_CACHE_HOME": str(site.folder / "cache")} | variables,
            stdout=out,
            stderr=out,
        )
    made = Server(process, log)
    site.servers.append(made)
    try:
        wait_until_told(made)
        yield made
    finally:
        made.stop()
        site.servers.remove(made)


def wait_until_told(server: Server, times: int = 1) -> None:
    """Until the server has said so often where it is."""
    until = time.monotonic() + 60
    while server.log.read_text().count("Fullwarp is at") < times:
        assert server.process.poll() is None and time.monotonic() < until, server.log.read_text()[-2000:]
        time.sleep(0.05)


def _settings(site: WholeSite, run: str) -> str:
    return f"""
refresh_seconds = 5
[slurm]
kind = "rest"
url = "{site.slurm.url}"
token = "{SECRETS[3]}"
timeout_seconds = 2
[metrics]
url = "{site.metrics.url}"
token = "{SECRETS[4]}"
selector = 'run="{run}"'
scrape_interval_seconds = 30
timeout_seconds = 2
retries = 0
[identity]
staff_users = ["sam"]
staff_groups = ["hpc-staff"]
group_header = "X-Remote-Groups"
[serve]
bind = "unix:{site.socket}"
url_prefix = "{PREFIX}"
workers = 2
threads = 8
[exposure]
requests_per_minute = 0
scrape_token_file = "{site.folder}/scrape-token"
[api]
requests_per_minute = 0
[logs]
format = "json"
level = "info"
[cache]
kind = "redis"
redis_url = "redis://default:{SECRETS[1]}@127.0.0.1:{site.redis.port}/3"
[state]
url = "postgresql+psycopg://fullwarp:{SECRETS[2]}@127.0.0.1:{site.postgres.port}/fullwarp_site"
[history]
directory = "{site.folder}/history"
"""


@pytest.fixture(scope="session")
def whole_site(
    tmp_path_factory: pytest.TempPathFactory,
    reference: Path,
    prometheus_server: PrometheusServer,
    redis_url: str,
    postgres_port: int,
) -> Iterator[WholeSite]:
    folder = tmp_path_factory.mktemp("site")
    run = f"site-{time.time_ns()}"
    fill(prometheus_server, NODES, run)
    with ExitStack() as stack:
        slurmrestd = stack.enter_context(RecentJobs(reference / "data" / "slurmrestd" / "25.11" / "0.0.44", NODES))
        site = WholeSite(
            folder,
            free_port(),
            folder / "fullwarp.sock",
            free_port(),
            stack.enter_context(FaultProxy("127.0.0.1", slurmrestd.port)),
            stack.enter_context(FaultProxy("127.0.0.1", prometheus_server.port)),
            stack.enter_context(Relay(int(redis_url.rsplit(":", 1)[1].split("/")[0]))),
            stack.enter_context(Relay(postgres_port)),
        )
        (folder / "serve.toml").write_text(_settings(site, run))
        (folder / "serve.toml").chmod(0o640)
        (folder / "scrape-token").write_text(SECRETS[5])
        site.tokens = _tokens(site, postgres_port)
        stack.enter_context(serving(site, "first"))
        places = [f"unix:{site.socket}", f"127.0.0.1:{site.tcp_port}"]
        stack.enter_context(nginx(folder, site.port, PREFIX, places, PEOPLE, SECRET))
        yield site
    # After all that the tests did to it, faults included; an error here is one of the last test that used the site.
    assert told_secrets(site) == []


def told_secrets(site: WholeSite) -> list[str]:
    """Secrets and tracebacks in the logs of all servers of the site."""
    written = "".join(path.read_text() for path in site.folder.glob("*.log"))
    hidden = (*SECRETS, *site.tokens.values(), basic("sam"), "Traceback")
    return [one for one in hidden if one in written]


def _tokens(site: WholeSite, port: int) -> dict[str, str]:
    """One token of each role, in a database of the site's own."""
    subprocess.run(["createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "fullwarp", "fullwarp_site"], check=True)
    settings = StateSettings(
        url=SecretStr(f"postgresql+psycopg://fullwarp:{SECRETS[2]}@127.0.0.1:{site.postgres.port}/fullwarp_site")
    )
    upgrade_store(settings)
    store = open_store(settings, writes=True)
    assert store is not None
    now = datetime.now(UTC)
    made = {role.value: create_token(store, "sam", role, now, now + timedelta(days=1))[1] for role in TokenRole}
    store.close()
    return made
