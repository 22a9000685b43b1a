"""Ports for what a test starts."""

from __future__ import annotations

import socket
import subprocess
import time
from typing import Any


def free_port() -> int:
    """A loopback port that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def is_listening(port: int, process: subprocess.Popen[Any], seconds: float = 60.0) -> bool:
    """Whether somebody listens at a loopback port before the process ends and the time is over; waits for it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.05)
    return False
