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
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# What Arrow and the collector import when it is first needed: once here, not in every fork.
import pandas  # noqa: F401
import pyarrow.acero
import pyarrow.dataset
import pyarrow.pandas_compat  # noqa: F401

from data.history.datasets import DATASETS
from data.history.privacy import forget_user
from data.history.store import DAMAGED, writing
from tests.history.small_cluster import SmallCluster, doubled, ended, running, summary

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
MIDNIGHT = datetime(2026, 3, 7, tzinfo=UTC)
_SETTINGS = {"snapshots_days": 1, "reread_days": 4}
USER = "alice"


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


def forget(cluster: SmallCluster) -> None:
    with writing(cluster.directory, reached=cluster.reached) as store:
        forget_user(store, cluster.sources().settings.history, USER, cluster.now)


@dataclass(frozen=True)
class Scene:
    """What is killed: `act` on the cluster over a folder. `again` are steps to visit although another scene did."""

    cluster: Callable[[Path], SmallCluster]
    act: Callable[[SmallCluster], Any] = SmallCluster.collect
    again: tuple[str, ...] = ()


SOON = Scene(soon)
OVER_DAMAGE = Scene(soon)
AT_NIGHT = Scene(at_night, again=("jobs: in place", "usage: in place", "mark: in place"))
FORGET = Scene(at_night, forget, again=tuple(f"{name}: in place" for name in DATASETS))


def damage(directory: Path) -> None:
    """Cut a file of each dataset that the next pass reads, as a full disk would."""
    for name in ("jobs", "usage"):
        path = sorted(directory.glob(f"{name}/day={MIDNIGHT:%Y-%m-%d}/*.parquet"))[-1]
        path.write_bytes(path.read_bytes()[:-100])


def content(cluster: SmallCluster) -> dict[str, Any]:
    """All rows, and the damaged files that were set aside."""
    rows = {name: cluster.rows(name) for name in DATASETS}
    return {**rows, DAMAGED: sorted(path.stat().st_size for path in cluster.directory.glob(f"{DAMAGED}/*"))}


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


def steps_of(scene: Scene, folder: Path) -> list[str]:
    steps: list[str] = []
    cluster = scene.cluster(folder)
    cluster.reached = steps.append
    scene.act(cluster)
    return steps


def killed_at(scene: Scene, folder: Path, place: int) -> None:
    left = [place]

    def reached(step: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    cluster = scene.cluster(folder)
    cluster.reached = reached
    scene.act(cluster)


def check(base: Path, scene: Scene, work: Path, visited: set[str]) -> Path:
    """Kill the act of `scene` over the history in `base` at each named side effect that was not `visited` before, then
    let it run through.

    Gives the folder of the act that nobody killed. A name's first, last or middle time is taken by turns.
    """
    whole, looked_at, seen = work / "whole", work / "looked-at", work / "seen"
    shutil.copytree(base, whole)
    shutil.copytree(base, looked_at)  # who reads sets damaged files aside
    assert child(lambda: _whole(scene, looked_at, whole), seen) == 0
    before, steps, wanted = json.loads(seen.read_text())
    names = sorted({step for step in steps if step not in visited or step in scene.again})
    visited |= set(names)
    places = sorted(_one_of(steps, step, number) for number, step in enumerate(names))
    for place in places:
        shutil.copytree(base, work / str(place))
        ended_by = child(lambda: killed_at(scene, work / str(place), place))  # noqa: B023
        assert os.WTERMSIG(ended_by) == signal.SIGKILL, (steps[place], ended_by)
    assert child(lambda: [_left_and_mended(scene, work / str(place)) for place in places], seen) == 0
    for place, (left, after) in zip(places, json.loads(seen.read_text()), strict=True):
        print(json.dumps({"step": steps[place], **verdict(before, left, after, wanted)}), flush=True)
    return whole


def _whole(scene: Scene, looked_at: Path, whole: Path) -> list[Any]:
    return [content(scene.cluster(looked_at)), steps_of(scene, whole), content(scene.cluster(whole))]


def _left_and_mended(scene: Scene, folder: Path) -> list[Any]:
    copy = folder.with_name(f"{folder.name}-left")
    shutil.copytree(folder, copy)
    left = {"jobs": scene.cluster(copy).rows("jobs")}
    scene.act(scene.cluster(folder))
    return [left, content(scene.cluster(folder))]


def _one_of(steps: list[str], step: str, number: int) -> int:
    places = [place for place, name in enumerate(steps) if name == step]
    return places[(0, -1, len(places) // 2)[number % 3]]


def verdict(before: Any, left: Any, after: Any, wanted: Any) -> dict[str, Any]:
    keys = {name: {_key(name, row) for row in rows} for name, rows in left.items()}
    return {
        "lost": [row for row in before["jobs"] if _key("jobs", row) not in keys["jobs"]],
        "doubled": [key for name in DATASETS for key in doubled(name, after[name])],
        "different": [name for name in wanted if after[name] != wanted[name]],
    }


def _key(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[column] for column in DATASETS[name].key)


def _require_nobody(cluster: SmallCluster) -> None:
    assert USER not in repr(content(cluster))


def main() -> None:
    visited: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        assert child(lambda: first(base).collect() and None) == 0
        works = [Path(folder) / name for name in ("soon", "night", "forget", "damage")]
        for work in works:
            work.mkdir()
        night = check(check(base, SOON, works[0], visited), AT_NIGHT, works[1], visited)
        forgotten = check(night, FORGET, works[2], visited)
        assert child(lambda: _require_nobody(at_night(forgotten))) == 0
        damage(base)
        check(base, OVER_DAMAGE, works[3], visited)


if __name__ == "__main__":
    main()
