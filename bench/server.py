"""`fullwarp serve` with two workers on this machine, what is asked of it, and what it says of itself."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from bench.commands import FULLWARP
from tests.services.ports import free_port
from tests.services.viewers import first_data

WORKERS = 2
CALLBACK = "/_dash-update-component"
PAGES = ("/", "/jobs", "/nodes", "/me", "/metrics", "/policy", "/efficiency", "/health")
SETTINGS = """
refresh_seconds = 5
[slurm]
kind = "simulated"
[metrics]
kind = "simulated"
[identity]
kind = "header"
trust_loopback = true
proxy_addresses = ["127.0.0.1"]
staff_users = ["staff0", "staff1"]
[serve]
bind = "127.0.0.1:{port}"
workers = {workers}
threads = 32
[exposure]
scrape_addresses = ["127.0.0.2"]
requests_per_minute = 0
[cache]
directory = "{folder}/cache"
"""
Report = dict[str, Any]


@contextmanager
def serving() -> Iterator[int]:
    """The port of a server that has answered every page a few times: each worker has its picture, its last day and its
    imports."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="fullwarp-load-") as folder:
        settings = SETTINGS.format(port=port, folder=folder, workers=WORKERS)
        Path(folder, "serve.toml").write_text(settings, encoding="utf-8")
        server = _started(Path(folder))
        try:
            asyncio.run(_every_page(port))
            yield port
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(40)


def _started(folder: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FULLWARP_")}
    command = [FULLWARP, "--config", str(folder / "serve.toml"), "serve"]
    log = folder / "serve.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=folder, env=environment, stderr=out)
    while server.poll() is None:
        if "Fullwarp is at" in log.read_text(encoding="utf-8"):
            return server
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8')[-1000:]}")


async def _every_page(port: int) -> None:
    for _ in range(4):
        await asyncio.gather(*(ask(port, "POST", CALLBACK, first_data(path), user="staff0") for path in PAGES))


async def ask(
    port: int, method: str, path: str, body: object = None, *, user: str = "", source: str = "127.0.0.1"
) -> tuple[int, bytes]:
    """One request on a connection of its own, as nginx makes them; 0 = no answer."""
    content = b"" if body is None else orjson.dumps(body)
    head = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Connection: close",
        f"Content-Length: {len(content)}",
    ]
    head += [f"X-Remote-User: {user}"] if user else []
    head += ["Content-Type: application/json"] if content else []
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
        writer.write("\r\n".join([*head, "", ""]).encode() + content)
        answer = await asyncio.wait_for(reader.read(), 60)
        writer.close()
    except (OSError, TimeoutError):
        return 0, b""
    first, _, rest = answer.partition(b"\r\n\r\n")
    words = first.split(b" ", 2)
    return (int(words[1]), rest) if len(words) > 1 else (0, b"")


async def own_metrics(port: int) -> dict[str, float]:
    """What the server counts of itself."""
    text = (await ask(port, "GET", "/api/v1/self/metrics", source="127.0.0.2"))[1].decode()
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in rows}
