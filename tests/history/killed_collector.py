"""Run as a process of its own: kill a collector at each of its side effects, and see what is left and becomes of it.

Prints one line of JSON per side effect: {"step", "lost", "doubled", "different"}, with the rows concerned.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - Arrow imports it when it is first asked for times: once here, not in every fork

from data.history.datasets import DATASETS
from tests.history.small_cluster import SmallCluster, doubled, ended, running, summary

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
MIDNIGHT = datetime(2026, 3, 7, tzinfo=UTC)
_SETTINGS = {"snapshots_days": 1, "reread_days": 4}
_ALWAYS = ("jobs: in place", "usage: in place", "mark: in place")


def first(directory: Path) -> SmallCluster:
    """What the first pass finds, at half past two: ended and running jobs."""
    cluster = SmallCluster(directory, now=MIDNIGHT + 150 * MINUTE, settings=_SETTINGS)
    cluster.done = [
        ended(1, MIDNIGHT + 10 * MINUTE, MIDNIGHT + 20 * MINUTE, admin_comment=summary(0.5)),
        ended(2, MIDNIGHT - 50 * MINUTE, MIDNIGHT - 20 * MINUTE),
        ended(3, MIDNIGHT + 70 * MINUTE, MIDNIGHT + 90 * MINUTE, admin_comment=summary(0.0)),
    ]
    cluster.jobs = [running(4, MIDNIGHT + 125 * MINUTE, 0), running(5, MIDNIGHT + 125 * MINUTE, 1)]
    return cluster


def soon(directory: Path) -> SmallCluster:
    """An hour later: 2 ended on another day after all, 5 ended before it was last seen, 4 is still running."""
    cluster = first(directory)
    cluster.now += 65 * MINUTE
    cluster.done[1] = ended(2, MIDNIGHT - 50 * MINUTE, MIDNIGHT + 20 * MINUTE)
    cluster.done.append(ended(5, MIDNIGHT + 125 * MINUTE, MIDNIGHT + 130 * MINUTE))
    cluster.jobs = cluster.jobs[:1]
    return cluster


def at_night(directory: Path) -> SmallCluster:
    """Three days later: 4 has ended, 7 is new, days became old."""
    cluster = soon(directory)
    cluster.now = MIDNIGHT + 3 * DAY + 150 * MINUTE
    cluster.settings = {**_SETTINGS, "pseudonyms_after_days": 2}
    cluster.done.append(ended(4, MIDNIGHT + 125 * MINUTE, MIDNIGHT + 230 * MINUTE, admin_comment=summary(0.25)))
    cluster.jobs = [running(7, cluster.now - 20 * MINUTE, 3)]
    return cluster


def content(cluster: SmallCluster) -> dict[str, list[dict[str, Any]]]:
    return {name: cluster.rows(name) for name in DATASETS}


def child(work: Callable[[], Any], out: Path | None = None) -> int:
    """Do `work` in a fork, write what it gives as text, and give how the fork ended."""
    pid = os.fork()
    if pid == 0:
        try:
            found = work()
            if out is not None:
                text = json.dumps(found, default=str, sort_keys=True)
                out.write_text(re.sub("anon-[0-9a-f]{12}", "anon", text))  # each run makes its own key
        except BaseException as err:
            print(repr(err), file=sys.stderr, flush=True)
            os._exit(3)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def steps_of(cluster: SmallCluster) -> list[str]:
    steps: list[str] = []
    cluster.reached = steps.append
    cluster.collect()
    return steps


def killed_at(cluster: SmallCluster, place: int) -> None:
    left = [place]

    def reached(step: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    cluster.reached = reached
    cluster.collect()


def check(base: Path, make: Callable[[Path], SmallCluster], work: Path, visited: set[str]) -> Path:
    """Kill `make`'s pass over the history in `base` at each named side effect that was not `visited` before, then let
    it run through.

    Gives the folder of the pass that nobody killed. A name's first, last or middle time is taken by turns.
    """
    work.mkdir()
    whole = work / "whole"
    shutil.copytree(base, whole)
    assert child(lambda: [content(make(base)), steps_of(make(whole)), content(make(whole))], work / "seen") == 0
    before, steps, wanted = json.loads((work / "seen").read_text())
    names = sorted({step for step in steps if step not in visited or step in _ALWAYS})
    visited |= set(names)
    for place in sorted(_one_of(steps, step, number) for number, step in enumerate(names)):
        folder = work / f"killed-{place}"
        shutil.copytree(base, folder)
        ended_by = child(lambda: killed_at(make(folder), place))  # noqa: B023
        assert os.WTERMSIG(ended_by) == signal.SIGKILL, (steps[place], ended_by)
        assert child(lambda: _left_and_mended(make(folder)), work / "seen") == 0  # noqa: B023
        left, after = json.loads((work / "seen").read_text())
        print(json.dumps({"step": steps[place], **verdict(before, left, after, wanted)}), flush=True)
        shutil.rmtree(folder)
    return whole


def _left_and_mended(cluster: SmallCluster) -> list[Any]:
    left = {"jobs": cluster.rows("jobs")}
    cluster.collect()
    return [left, content(cluster)]


def _one_of(steps: list[str], step: str, number: int) -> int:
    places = [place for place, name in enumerate(steps) if name == step]
    return places[(0, -1, len(places) // 2)[number % 3]]


def verdict(before: Any, left: Any, after: Any, wanted: Any) -> dict[str, Any]:
    keys = {name: {_key(name, row) for row in rows} for name, rows in left.items()}
    return {
        "lost": [row for row in before["jobs"] if _key("jobs", row) not in keys["jobs"]],
        "doubled": [key for name, rows in after.items() for key in doubled(name, rows)],
        "different": [name for name in wanted if after[name] != wanted[name]],
    }


def _key(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[column] for column in DATASETS[name].key)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "first"
        assert child(lambda: first(base).collect() and None) == 0
        visited: set[str] = set()
        for make in (soon, at_night):
            base = check(base, make, Path(folder) / make.__name__, visited)


if __name__ == "__main__":
    main()
