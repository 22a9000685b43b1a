"""Load: people with pages open and people who go about, against `fullwarp serve` with two workers, on this machine.

Most have a page open that asks for news every half minute; some open one page after another. Each has a name, sent as
a proxy would. The same is asked of a few and of many viewers: the requests to the sources must not differ. Measuring
begins when all that a worker keeps is full, so that memory must be flat from there on.

By hand, for longer: python -m bench.load SECONDS
"""

from __future__ import annotations

import asyncio
import random
import re
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import orjson

from bench.memory import Memory
from bench.server import CALLBACK, PAGES, WORKERS, Report, ask, own_metrics, serving
from pages._answers import MOST
from tests.services.viewers import first_data

REFRESH_SECONDS, FEW_SECONDS = 30.0, 15.0
WARM_SECONDS, WARM_REFRESH_SECONDS, MOST_WARM_SECONDS = 20.0, 3.0, 400.0
FILLS = 6
"""So often as many answers are made as the workers keep: then whichever got fewer of them is full too, and each has
collected its garbage for the first time."""
THINKING_SECONDS = (3.0, 9.0)


@dataclass
class Seen:
    """What the viewers met: milliseconds by kind of request, and everything that was not 200 or 204."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    memory: Memory = field(default_factory=Memory)

    def note(self, kind: str, began: float, status: int) -> None:
        self.milliseconds.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
        if status not in (200, 204):
            self.errors[f"{kind} {status}"] += 1


def under_load(watching: int = 200, going: int = 20, few: int = 10, seconds: float = 60.0) -> Report:
    """The report of a crowd, and of a few for comparison: p95, errors, requests to the sources, memory of each
    worker."""
    with serving() as port:
        asyncio.run(fill(port, watching, going))
        alone = asyncio.run(_measured(port, few, 1, min(seconds, FEW_SECONDS)))
        crowd = asyncio.run(_measured(port, watching, going, seconds))
    return {"few": alone, "crowd": crowd}


async def fill(port: int, watching: int = 200, going: int = 20) -> None:
    """Hurried viewers, until everything that a worker keeps of its answers is full."""
    end = time.perf_counter() + MOST_WARM_SECONDS
    while (await own_metrics(port))['fullwarp_answers_total{outcome="miss"}'] < FILLS * MOST * WORKERS:
        if time.perf_counter() > end:
            raise TimeoutError("what is kept did not fill")
        await _crowd(port, watching, going, WARM_SECONDS, refresh=WARM_REFRESH_SECONDS)


async def _measured(port: int, watching: int, going: int, seconds: float) -> Report:
    before = await own_metrics(port)
    seen = await _crowd(port, watching, going, seconds)
    after = await own_metrics(port)
    every = [one for found in seen.milliseconds.values() for one in found]
    return {
        "watching": watching,
        "going": going,
        "seconds": seconds,
        "requests": len(every),
        "all_ms": _quantiles(every),
        "by_kind_ms": {kind: _quantiles(found) for kind, found in sorted(seen.milliseconds.items())},
        "errors": dict(seen.errors),
        "source_requests_per_minute": {
            name: round((after.get(name, 0) - before.get(name, 0)) * 60 / seconds, 1)
            for name in after
            if name.startswith("fullwarp_source_requests_total")
        },
        "workers": seen.memory.report,
    }


def _quantiles(milliseconds: list[float]) -> Report:
    if len(milliseconds) < 2:
        return {"requests": len(milliseconds)}
    cuts = statistics.quantiles(milliseconds, n=100)
    return {"requests": len(milliseconds), **{f"p{at}": round(cuts[at - 1], 1) for at in (50, 95, 99)}}


async def _crowd(port: int, watching: int, going: int, seconds: float, refresh: float = REFRESH_SECONDS) -> Seen:
    until, seen, chance = time.perf_counter() + seconds, Seen(), random.Random(7)
    known = orjson.loads((await ask(port, "GET", "/_dash-dependencies", user="staff0"))[1])
    tick = _tick(known)
    watchers = (_watch(port, f"user{n}", tick, chance, refresh, until, seen) for n in range(watching))
    walkers = (_walk(port, f"staff{n}", random.Random(n), until, seen) for n in range(going))
    await asyncio.gather(seen.memory.watch(port, until), *watchers, *walkers)
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
        status, answer = await ask(port, "POST", CALLBACK, body, user=user)
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
        status, _ = await ask(port, "GET", path, user=user)
        seen.note("page", began, status)
        began = time.perf_counter()
        status, _ = await ask(port, "POST", CALLBACK, first_data(path), user=user)
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


if __name__ == "__main__":
    found = under_load(seconds=float(sys.argv[1]))
    sys.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
