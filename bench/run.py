"""`make bench`: prints what things cost as JSON."""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import orjson

from bench.commands import first_page_seconds, help_seconds
from bench.pages import DEMO, LARGE, overview
from bench.prometheus_here import is_here
from bench.snapshots import Row, from_prometheus, simulated

SIZES = (50, 250, 1000)
NAMES = ("cold", "refresh")
COSTS = ("cold_seconds", "refresh_seconds", "cold_computing", "refresh_computing")


def with_computing(row: Row) -> Row:
    """Seconds of computing, ours and the server's together: unlike those on the clock, they grow with no other load."""
    sums = {f"{name}_computing": row[f"{name}_cpu_seconds"] + row[f"{name}_server_cpu_seconds"] for name in NAMES}
    return {**row, **sums}


def growth(rows: list[Row]) -> list[dict[str, float | str]]:
    """How much more time a step in size takes, over how much larger it is: 1 = linear, less = better."""
    found: list[dict[str, float | str]] = []
    for small, large in pairwise(map(with_computing, rows)):
        size = large["devices"] / small["devices"]
        ratios = {f"{name}_growth": round(large[name] / small[name] / size, 2) for name in COSTS}
        found.append({"from_to": f"{small['nodes']}-{large['nodes']}", **ratios})
    return found


def overview_apart(size: int) -> object:
    """In a process of its own: the pages of a process belong to one app."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(overview, size).result()


def main() -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that servers and folders go too
    sizes = tuple(int(text) for text in sys.argv[1:]) or SIZES
    load = os.getloadavg()[0]
    measured = {"simulated": [simulated(size) for size in sizes]}
    if is_here():
        measured["prometheus"] = [from_prometheus(size) for size in sizes]
    report = {
        "cores": os.cpu_count(),
        "load_before": round(load, 2),
        "help_seconds": help_seconds(),
        "demo_first_page_seconds": first_page_seconds(),
        "overview": [overview_apart(size) for size in (DEMO, LARGE)],
        "snapshots": measured,
        "growth": {name: growth(rows) for name, rows in measured.items()},
    }
    sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")


if __name__ == "__main__":
    main()
