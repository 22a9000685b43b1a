"""`make bench`: prints what things cost as JSON."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson

from bench.chat import chat_loop
from bench.chat_streams import chat_streams
from bench.collected import collected, summaries_read
from bench.commands import first_page_seconds, help_seconds
from bench.history import year_by_user
from bench.load import under_load
from bench.measured_day import measured_day
from bench.pages import DEMO, LARGE, overview
from bench.prometheus_here import Server, is_here, prometheus_with
from bench.rounds import apart, in_rounds
from bench.snapshots import SEED, Clock, Row, from_prometheus, simulated
from bench.strangers import strangers
from bench.verdicts import verdicts
from data.simulation import World

SIZES = (50, 250, 1000)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that servers and folders go too
    sizes = tuple(int(text) for text in sys.argv[1:]) or SIZES
    load = os.getloadavg()[0]
    snapshots = {"simulated": in_rounds(sizes, simulated)}
    if is_here():
        snapshots["prometheus"] = _prometheus_in_rounds(sizes)
    day = measured_day() if is_here() else None
    report = {
        "cores": os.cpu_count(),
        "load_before": round(load, 2),
        "history_year_by_user": year_by_user(),
        "collected": collected(),
        "js1_summaries": summaries_read(),
        "measured_day": day,
        "verdicts": verdicts(max(sizes)) if is_here() else None,
        "snapshots": snapshots,
        "help_seconds": help_seconds(),
        "demo_first_page_seconds": first_page_seconds(),
        "chat_loop": chat_loop(),
        "chat_streams": chat_streams(),
        # In processes of their own: the pages of a process belong to one app.
        "load": under_load(),
        "strangers": strangers(),
        "overview": [apart(overview, size, context="spawn") for size in (DEMO, LARGE)],
    }
    sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")


def _prometheus_in_rounds(sizes: tuple[int, ...]) -> dict[str, Any]:
    """With a server for each size: what one stores does not slow another."""
    with ExitStack() as servers:
        filled = {size: servers.enter_context(prometheus_with(World(SEED, size), Clock()())) for size in sizes}
        return in_rounds(sizes, partial(_from_filled, filled))


def _from_filled(filled: Mapping[int, Server], size: int) -> Row:
    return from_prometheus(size, filled[size])


if __name__ == "__main__":
    main()
