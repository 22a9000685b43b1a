"""Load: people with pages open and people who go about, against `fullwarp serve` with two workers, on this machine.

Most have a page open that asks for news every half minute; some open one page after another. Each has a name, sent as
a proxy would. The same is asked of a few and of many viewers: the requests to the sources must not differ.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from bench.commands import FULLWARP
from tests.services.ports import free_port
from tests.services.viewers import first_data

REFRESH_SECONDS = 30.0
WARM_SECONDS, WARM_REFRESH_SECONDS = 15.0, 3.0
THINKING_SECONDS = (3.0, 9.0)
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
workers = 2
threads = 32
[exposure]
scrape_addresses = ["127.0.0.2"]
[cache]
directory = "{folder}/cache"
"""
Report = dict[str, Any]


@dataclass
class Seen:
    """What the viewers met: milliseconds by kind of request, and everything that was not 200 or 204."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, began: float, status: int) -> None:
        self.milliseconds.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
        if status not in (200, 204):
            self.errors[f"{kind} {status}"] += 1


def under_load(watching: int = 200, going: int = 20, few: int = 10, seconds: float = 40.0) -> Report:
    """The report of a crowd, and of a few for comparison: p95, errors, requests to the sources, memory of each worker
    at the begin, in the middle and at the end."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="fullwarp-load-") as folder:
        Path(folder, "serve.toml").write_text(SETTINGS.format(port=port, folder=folder), encoding="utf-8")
        server = _serve(Path(folder))
        try:
            asyncio.run(_every_page(port))
            _go(port, watching, going, WARM_SECONDS, refresh=WARM_REFRESH_SECONDS)  # until what is kept is full
            alone = _measured(port, few, 1, seconds / 4)
            crowd = _measured(port, watching, going, seconds)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(40)
    return {"few": alone, "crowd": crowd}


async def _every_page(port: int) -> None:
    """Unmeasured: then each worker has its picture, its last day and its imports."""
    for _ in range(4):
        asked = [_ask(port, "POST", "/_dash-update-component", first_data(path), user="staff0") for path in PAGES]
        await asyncio.gather(*asked)


def _serve(folder: Path) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FULLWARP_")}
    command = [FULLWARP, "--config", str(folder / "serve.toml"), "serve"]
    server = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    while server.stderr is not None and (line := server.stderr.readline()):
        if "Fullwarp is at" in line:
            return server
    raise RuntimeError("the server did not start")


def _measured(port: int, watching: int, going: int, seconds: float) -> Report:
    before, memory = _own(port), [_memory(port)]
    half = seconds / 2
    seen = _go(port, watching, going, half)
    memory.append(_memory(port))
    seen = _go(port, watching, going, half, seen)
    memory.append(_memory(port))
    after = _own(port)
    kinds = {kind: _quantiles(found) for kind, found in sorted(seen.milliseconds.items())}
    every = [one for found in seen.milliseconds.values() for one in found]
    return {
        "watching": watching,
        "going": going,
        "seconds": seconds,
        "requests": len(every),
        "all_ms": _quantiles(every),
        "by_kind_ms": kinds,
        "errors": dict(seen.errors),
        "source_requests_per_minute": {
            name: round((after.get(name, 0) - before.get(name, 0)) * 60 / seconds, 1)
            for name in after
            if name.startswith("fullwarp_source_requests_total")
        },
        "worker_mib": memory,
    }


def _quantiles(milliseconds: list[float]) -> Report:
    if len(milliseconds) < 2:
        return {"requests": len(milliseconds)}
    cuts = statistics.quantiles(milliseconds, n=100)
    return {"requests": len(milliseconds), **{f"p{at}": round(cuts[at - 1], 1) for at in (50, 95, 99)}}


def _own(port: int) -> dict[str, float]:
    """The server's own metrics."""
    text = asyncio.run(_ask(port, "GET", "/api/v1/self/metrics", source="127.0.0.2"))[1].decode()
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def _memory(port: int) -> list[float]:
    """Resident MiB of each worker, the least first."""
    found = (value for name, value in _own(port).items() if name.startswith("fullwarp_worker_resident_bytes"))
    return sorted(round(value / 2**20, 1) for value in found)


def _go(
    port: int,
    watching: int,
    going: int,
    seconds: float,
    seen: Seen | None = None,
    *,
    refresh: float = REFRESH_SECONDS,
) -> Seen:
    return asyncio.run(_crowd(port, watching, going, seconds, refresh, seen or Seen()))


async def _crowd(port: int, watching: int, going: int, seconds: float, refresh: float, seen: Seen) -> Seen:
    until = time.perf_counter() + seconds
    chance = random.Random(7)
    known = orjson.loads((await _ask(port, "GET", "/_dash-dependencies", user="staff0"))[1])
    tick = _tick(known)
    watchers = (_watch(port, f"user{n}", tick, chance, refresh, until, seen) for n in range(watching))
    walkers = (_walk(port, f"staff{n}", random.Random(n), until, seen) for n in range(going))
    await asyncio.gather(*watchers, *walkers)
    return seen


async def _watch(
    port: int, user: str, tick: Report, chance: random.Random, refresh: float, until: float, seen: Seen
) -> None:
    """A page that is open: a tick every half minute, with the version that it has."""
    at, version = time.perf_counter() + chance.random() * refresh, ""
    while at < until:
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        body = {**tick, "state": [{"id": "overview-version", "property": "data", "value": version}]}
        began = time.perf_counter()
        status, answer = await _ask(port, "POST", "/_dash-update-component", body, user=user)
        seen.note("tick", began, status)
        if found := re.search(rb'"overview-version":\{"data":"([^"]+)"', answer):
            version = found[1].decode()
        at += refresh


async def _walk(port: int, user: str, chance: random.Random, until: float, seen: Seen) -> None:
    """Somebody who opens one page after another, as a browser does: the page's first data by callback."""
    await asyncio.sleep(chance.random() * THINKING_SECONDS[0])
    while time.perf_counter() < until:
        path = chance.choice(PAGES)
        began = time.perf_counter()
        status, _ = await _ask(port, "GET", path, user=user)
        seen.note("page", began, status)
        began = time.perf_counter()
        status, _ = await _ask(port, "POST", "/_dash-update-component", first_data(path), user=user)
        seen.note(f"data {path}", began, status)
        await asyncio.sleep(chance.uniform(*THINKING_SECONDS))


def _tick(known: list[Report]) -> Report:
    """The Overview's tick as the browser posts it."""
    one = next(one for one in known if "overview-version.data" in one["output"])
    outputs = [part.split("@")[0].rsplit(".", 1) for part in one["output"].strip(".").split("...")]
    return {
        "output": one["output"],
        "outputs": [{"id": id, "property": name} for id, name in outputs],
        "inputs": [{"id": part["id"], "property": part["property"], "value": None} for part in one["inputs"]],
        "changedPropIds": ["overview-tick.n_intervals"],
    }


async def _ask(
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
