"""The image in a container engine, started by the line of the how-to. `make test-image` builds it and runs this."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ENGINE, IMAGE = os.environ.get("ENGINE", "docker"), os.environ.get("TEST_IMAGE", "")
pytestmark = pytest.mark.skipif(not IMAGE, reason="make test-image builds the image that this runs")
HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "deploy.md"
SECRET = "0123456789abcdef0123456789abcdef"
SETTINGS = """
[slurm]
kind = "simulated"
[metrics]
kind = "simulated"
[demo]
history_days = 0
[identity]
secret_file = "/etc/fullwarp/proxy-secret"
proxy_addresses = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
"""


@dataclass(frozen=True)
class Container:
    name: str
    port: int

    @property
    def is_running(self) -> bool:
        return engine("inspect", "--format", "{{.State.Running}}", self.name).stdout.strip() == "true"

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return engine("exec", self.name, *command)

    def status_of(self, path: str, **headers: str) -> int:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        asked.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        return asked.getresponse().status


def engine(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ENGINE, *words], capture_output=True, text=True, check=False, timeout=120)


def line_of_the_how_to(etc: Path) -> list[str]:
    (line,) = re.findall(r"^\$ docker (run .*?[^\\])$", HOW_TO.read_text(encoding="utf-8"), re.M | re.S)
    mine = {
        "127.0.0.1:8050:8050": "127.0.0.1::8050",
        "/etc/fullwarp:/etc/fullwarp:ro": f"{etc}:/etc/fullwarp:ro",
        "fullwarp": IMAGE,
        "run": "run",
    }
    words = shlex.split(line.replace("\\\n", " "))
    assert set(mine) <= set(words)
    return [mine.get(word, word) for word in words]


@contextmanager
def started(etc: Path) -> Iterator[Container]:
    etc.chmod(0o755)
    (etc / "serve.toml").write_text(SETTINGS)
    (etc / "proxy-secret").write_text(SECRET)
    run, *rest = line_of_the_how_to(etc)
    made = engine(run, "--detach", *rest)
    name = made.stdout.strip()
    try:
        assert made.returncode == 0, made.stderr
        found = Container(name, int(engine("port", name, "8050").stdout.split()[0].rpartition(":")[2]))
        _wait(found)
        yield found
    finally:
        engine("rm", "--force", name)


def _wait(container: Container) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and container.is_running:
        try:
            if container.status_of("/healthz") == 200:
                return
        except (OSError, http.client.HTTPException):  # nobody listens yet; some engines take the connection and drop it
            time.sleep(0.2)
    logs = engine("logs", container.name)
    pytest.fail(logs.stdout + logs.stderr)


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with started(tmp_path_factory.mktemp("etc")) as found:
        yield found


def test_the_proxy_alone_is_believed(container: Container) -> None:
    assert container.status_of("/", X_Remote_User="alice", X_Fullwarp_Secret=SECRET) == 200
    assert container.status_of("/", X_Remote_User="alice") == 401


def test_it_is_nobody_with_nothing_but_a_tmpfs(container: Container) -> None:
    status = dict(re.findall(r"^(\w+):\s+(.*)$", container.run("cat", "/proc/1/status").stdout, re.M))
    assert status["Uid"].split() == ["10001"] * 4
    assert (int(status["CapEff"], 16), int(status["CapBnd"], 16), status["NoNewPrivs"]) == (0, 0, "1")
    for folder, is_open in (("/", False), ("/var/lib/fullwarp", False), ("/tmp", True)):
        assert (container.run("touch", f"{folder}/x").returncode == 0) is is_open, folder


def test_the_engine_knows_its_health_check_and_it_is_well(container: Container) -> None:
    known = json.loads(engine("inspect", "--format", "{{json .Config.Healthcheck}}", container.name).stdout)
    assert container.run(*known["Test"][1:]).returncode == 0


def test_it_ends_well_when_it_is_stopped(tmp_path: Path) -> None:
    with started(tmp_path) as found:
        assert engine("stop", "--time", "40", found.name).returncode == 0
        assert engine("inspect", "--format", "{{.State.ExitCode}}", found.name).stdout.strip() == "0"
        logs = engine("logs", found.name)
        assert "Traceback" not in logs.stdout + logs.stderr


def test_without_settings_it_says_what_to_set() -> None:
    done = engine("run", "--rm", IMAGE)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "Set it under [metrics]" in said and "Traceback" not in said
