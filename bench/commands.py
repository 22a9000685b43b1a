"""What a person waits for: the command's help, and the demo's first page."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import requests

from tests.services.ports import free_port
from tests.services.viewers import first_data

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))


def help_seconds() -> float:
    """The fastest of three `fullwarp --help`."""
    return round(min(_help() for _ in range(3)), 3)


def _help() -> float:
    begun = time.perf_counter()
    subprocess.run([FULLWARP, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def first_page_seconds() -> float:
    """From `fullwarp demo` to the first answered page with data in it."""
    with tempfile.TemporaryDirectory(prefix="fullwarp-bench-") as folder:
        bind = f"127.0.0.1:{free_port()}"
        begun = time.perf_counter()
        process = subprocess.Popen([FULLWARP, "demo", "--bind", bind], cwd=folder, stderr=subprocess.DEVNULL)
        try:
            wait_for_page(f"http://{bind}", begun + 60)
            return round(time.perf_counter() - begun, 3)
        finally:
            process.terminate()
            process.wait(30)


def wait_for_page(url: str, until: float) -> None:
    """Wait until the Overview is answered. Raises TimeoutError."""
    while time.perf_counter() < until:
        try:
            requests.get(url, timeout=30).raise_for_status()
            requests.post(f"{url}/_dash-update-component", json=first_data("/"), timeout=30).raise_for_status()
            return
        except requests.ConnectionError:
            time.sleep(0.05)
    raise TimeoutError("the demo did not answer within a minute")
