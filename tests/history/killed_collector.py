"""Run as a process of its own: kill a collector at each of its side effects, and see what is left and becomes of it.

Prints one line of JSON per side effect: {"step", "lost", "doubled", "different"}, with the rows concerned.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - Arrow imports it when it is first asked for times: once here, not in every fork

from data.history.datasets import DATASETS
from tests.history.small_cluster import NOON, SmallCluster, doubled, ended, running, summary

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_SETTINGS = {"snapshots_days": 1, "pseudonyms_after_days": 2}


def first(directory: Path) -> SmallCluster:
    """What the first pass finds: ended and running jobs."""
    begin = NOON - 3 * DAY
    cluster = SmallCluster(directory, now=begin, settings=_SETTINGS)
    cluster.done = [
        ended(1, begin - 14 * HOUR, begin - 13 * HOUR, admin_comment=summary(0.5)),
        ended(2, begin - 14 * HOUR, begin - 13 * HOUR),
        ended(3, begin - 2 * HOUR, begin - HOUR, admin_comment=summary(0.0)),
    ]
    cluster.jobs = [running(4, begin - HOUR, 0), running(5, begin - HOUR, 1)]
    return cluster


def soon(directory: Path) -> SmallCluster:
    """Two hours later: 2 ended on another day after all, 5 ended before it was last seen, 4 is still running."""
    cluster = first(directory)
    begin, cluster.now = cluster.now, cluster.now + 2 * HOUR
    cluster.done[1] = ended(2, begin - 14 * HOUR, begin - 2 * HOUR)
    cluster.done.append(ended(5, begin - HOUR, begin - timedelta(minutes=30)))
    cluster.jobs = [running(4, begin - HOUR, 0)]
    return cluster


def at_night(directory: Path) -> SmallCluster:
    """Days later: 4 has ended, 7 is new, days became old."""
    cluster = soon(directory)
    begin, cluster.now = NOON - 3 * DAY, NOON
    cluster.done.append(ended(4, begin - HOUR, begin + 3 * HOUR, admin_comment=summary(0.25)))
    cluster.jobs = [running(7, NOON - HOUR, 3)]
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
                out.write_text(json.dumps(found, default=str, sort_keys=True))
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


def check(base: Path, make: Callable[[Path], SmallCluster], work: Path) -> Path:
    """Kill `make`'s pass over the history in `base` at each named side effect, then let it run through.

    Gives the folder of the pass that nobody killed. A name's first, last or middle time is taken by turns.
    """
    work.mkdir()
    whole = work / "whole"
    shutil.copytree(base, whole)
    assert child(lambda: [content(make(base)), steps_of(make(whole)), content(make(whole))], work / "seen") == 0
    before, steps, wanted = json.loads((work / "seen").read_text())
    for place in sorted(_one_of(steps, step, number) for number, step in enumerate(sorted(set(steps)))):
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
        for make in (soon, at_night):
            base = check(base, make, Path(folder) / make.__name__)


if __name__ == "__main__":
    main()
