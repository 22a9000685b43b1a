"""DuckDB is opened after the fork, once per process, and serves many threads."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import pytest

from data.errors import SourceTimeout
from data.history.engine import EngineLimits, HistoryEngine
from data.model import Role, Viewer
from data.queries.history import Group, report
from tests.queries.history.attempts import Attempt, asked, sources_of, write

STAFF = Viewer("root", Role.STAFF)
ATTEMPTS = [Attempt(number, number % 20, number % 20 + 3, gpus=2, user=f"u{number % 5}") for number in range(60)]


def _answer_many(sources, answers):
    def ask(number):
        by = (Group.USER, Group.DAY, Group.NODE, Group.JOB)[number % 4]
        return report(STAFF, sources, asked(0, 24, by=by)).total.hours.allocated

    with ThreadPoolExecutor(32) as pool:
        answers.put(list(pool.map(ask, range(32))))


def test_two_forked_workers_answer_32_reports_at_a_time(tmp_path):
    sources = sources_of(write(tmp_path, ATTEMPTS))
    whole = report(STAFF, sources, asked(0, 24)).total.hours.allocated
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    closed = sources_of(tmp_path)  # as after the warm-up: nothing is open in the parent's engine
    workers = [fork.Process(target=_answer_many, args=(closed, answers), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=300) for _ in workers]
    for worker in workers:
        worker.join(30)
    assert found == [[pytest.approx(whole)] * 32] * 2


def test_a_report_that_finds_no_turn_says_so():
    engine = HistoryEngine(EngineLimits(at_once=1, patience_seconds=0.05))
    with engine.connection(), pytest.raises(SourceTimeout, match="too many reports"), engine.connection():
        pass


def test_the_engine_fetches_nothing_from_elsewhere():
    with HistoryEngine().connection() as cursor:
        names = ("autoinstall_known_extensions", "autoload_known_extensions", "TimeZone")
        found = [cursor.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in names]
        assert found == [False, False, "UTC"]
