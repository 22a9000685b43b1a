"""DuckDB is opened after the fork, once per process, and serves many threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from data.errors import SourceTimeout
from data.history.engine import EngineLimits, HistoryEngine
from data.queries.history.compiled import CompiledQuestions, _Promise, named_table
from data.queries.history.reading import Reading
from data.queries.history.span import range_of
from tests.queries.history.attempts import Attempt, at, put, write

ROOT = Path(__file__).resolve().parents[3]
ATTEMPTS = [Attempt(number, number % 20, number % 20 + 3, gpus=2, user=f"u{number % 5}") for number in range(60)]


def test_two_forked_workers_answer_32_reports_at_a_time(tmp_path):
    """In a process of its own: this one has used the engine before, and a fork of it would hang."""
    write(tmp_path, ATTEMPTS)
    command = [sys.executable, "-m", "tests.queries.history.forked_reports", str(tmp_path)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=True)
    assert json.loads(found.stdout) == [[pytest.approx(360.0)] * 32] * 2


def test_a_form_of_question_is_compiled_once_however_many_ask_and_again_after_a_failure():
    known, asked_for = CompiledQuestions(), threading.Barrier(8)
    made = []

    def build():
        made.append(1)
        time.sleep(0.05)
        return named_table(pa.schema([("one", pa.int64())]), "jobs")

    def ask(_):
        asked_for.wait(10)
        return known.get("form", build)

    with ThreadPoolExecutor(8) as pool:
        assert {one.tables for one in pool.map(ask, range(8))} == {("jobs",)}
    assert made == [1]
    for error in (KeyError, ValueError):
        with pytest.raises(error):
            known.get("broken", lambda: (_ for _ in ()).throw(error))  # noqa: B023


def test_a_form_that_another_process_was_compiling_at_a_fork_is_compiled_here(monkeypatch):
    known = CompiledQuestions()
    known._known["form"] = _Promise(os.getpid() + 1, Future())
    found = known.get("form", lambda: named_table(pa.schema([("one", pa.int64())]), "usage"))
    assert found.tables == ("usage",)


def test_a_report_that_finds_no_turn_says_so():
    engine = HistoryEngine(EngineLimits(at_once=1, patience_seconds=0.05))
    with engine.connection(), pytest.raises(SourceTimeout, match="too many reports"), engine.connection():
        pass


class Watched:
    """A connection that hears whether the result of a statement is left open when the next one comes."""

    def __init__(self, cursor):
        self.cursor, self.is_open, self.left_open = cursor, False, []

    def execute(self, sql):
        self._look(sql)
        self.is_open = True
        self.cursor.execute(sql)
        return self

    def complete(self):
        self.is_open = False
        self.cursor.complete()

    def sql(self, sql):
        self._look(sql)
        return self.cursor.sql(sql)

    def register(self, name, rows):
        self._look(name)
        self.cursor.register(name, rows)

    def _look(self, text):
        if self.is_open:
            self.left_open.append(text)


def test_no_result_is_left_open_where_the_next_statement_would_be_refused(tmp_path):
    put(tmp_path, "usage", ATTEMPTS[0].usage_rows(), "rows-00")
    write(tmp_path, ATTEMPTS)
    with HistoryEngine().connection() as cursor:
        watched = Watched(cursor)
        reading = Reading(watched, tmp_path, range_of(at(0.5), at(20.5)))
        names = ("jobs", "usage", "before", "open", "open_jobs", "edge_jobs", "edges", "crossing_edges")
        reading.keep("kept", "SELECT 1 AS one", names)
        assert reading.run("SELECT * FROM kept", names).to_pylist() == [{"one": 1}]
        assert watched.left_open == []


def test_a_result_that_an_error_left_open_does_not_hold_the_turn():
    engine = HistoryEngine(EngineLimits(at_once=1, patience_seconds=0.05))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), engine.connection() as cursor:
            cursor.execute("SELECT * FROM range(10000000)").fetchone()
            raise ZeroDivisionError
    with engine.connection() as cursor:
        assert cursor.sql("SELECT 1").fetchall() == [(1,)]


def test_the_engine_fetches_nothing_and_prints_nothing():
    with HistoryEngine().connection() as cursor:
        names = ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar", "TimeZone")
        found = [cursor.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in names]
        assert found == [False, False, False, "UTC"]
