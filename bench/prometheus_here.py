"""A Prometheus of its own on a free loopback port, filled with what a snapshot of the simulated cluster asks for."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import psutil
import requests

from data.metrics.registry import SNAPSHOT_METRICS
from data.model import Window
from data.simulation import World
from data.simulation.remote_write import remote_write
from tests.services.ports import free_port

PAST, AHEAD = timedelta(seconds=90), timedelta(minutes=15)


@dataclass(frozen=True)
class Server:
    """A running Prometheus."""

    url: str
    pid: int

    def cpu_seconds(self) -> float:
        """Seconds of computing since its start."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def settle(self) -> None:
        """Wait until it has cleaned up after what was asked of it before, at most ten seconds."""
        for _ in range(20):
            before = self.cpu_seconds()
            time.sleep(0.5)
            if self.cpu_seconds() - before < 0.05:
                return


def is_here() -> bool:
    return shutil.which("prometheus") is not None


@contextmanager
def prometheus_with(
    world: World, now: datetime, span: Window | None = None, metrics: Sequence[str] = SNAPSHOT_METRICS
) -> Iterator[Server]:
    """A server that holds the series of the span; None = from 90 seconds ago to a quarter of an hour ahead."""
    held = span or Window(now - PAST, now + AHEAD)
    with tempfile.TemporaryDirectory(prefix="fullwarp-bench-") as folder:
        port = free_port()
        process = _start(Path(folder), port)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process)
            remote_write(world, held, f"{url}/api/v1/write", metrics)
            yield Server(url, process.pid)
        finally:
            process.terminate()
            process.wait(20)


def _start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    config = folder / "prometheus.yml"
    config.write_text("global: {scrape_interval: 30s}\nstorage: {tsdb: {out_of_order_time_window: 2d}}\n")
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            if requests.get(f"{url}/-/ready", timeout=5).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise TimeoutError("Prometheus did not get ready within 30 s")
