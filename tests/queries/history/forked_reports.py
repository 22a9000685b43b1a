"""A process that forks two workers, each of which makes 32 reports at a time; prints their totals as JSON."""

from __future__ import annotations

import json
import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from data.history.engine import EngineLimits, HistoryEngine
from data.model import Role, Viewer
from data.queries.history import Group, report
from tests.queries.history.attempts import asked, sources_of

GROUPS = (Group.USER, Group.DAY)


def answer_many(sources, answers):
    def ask(number):
        query = asked(0, 24, by=GROUPS[number % len(GROUPS)], columns=("gpu_hours_allocated",))
        return report(Viewer("root", Role.STAFF), sources, query).total.hours.allocated

    with ThreadPoolExecutor(32) as pool:
        answers.put(list(pool.map(ask, range(32))))


def main() -> None:
    # Closed, as after the warm-up; on a busy machine the last of 32 waits long for its turn.
    engine = HistoryEngine(EngineLimits(patience_seconds=240))
    sources = replace(sources_of(Path(sys.argv[1])), engine=engine)
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    workers = [fork.Process(target=answer_many, args=(sources, answers), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=240) for _ in workers]
    for worker in workers:
        worker.join(30)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
