"""DuckDB is opened after the fork, once per process, and serves many threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from data.errors import SourceTimeout
from data.history.engine import EngineLimits, HistoryEngine
from tests.queries.history.attempts import Attempt, write

ROOT = Path(__file__).resolve().parents[3]
ATTEMPTS = [Attempt(number, number % 20, number % 20 + 3, gpus=2, user=f"u{number % 5}") for number in range(60)]


def test_two_forked_workers_answer_32_reports_at_a_time(tmp_path):
    """In a process of its own: this one has used the engine before, and a fork of it would hang."""
    write(tmp_path, ATTEMPTS)
    command = [sys.executable, "-m", "tests.queries.history.forked_reports", str(tmp_path)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=True)
    assert json.loads(found.stdout) == [[pytest.approx(360.0)] * 32] * 2


def test_a_report_that_finds_no_turn_says_so():
    engine = HistoryEngine(EngineLimits(at_once=1, patience_seconds=0.05))
    with engine.connection(), pytest.raises(SourceTimeout, match="too many reports"), engine.connection():
        pass


def test_the_engine_fetches_nothing_and_prints_nothing():
    with HistoryEngine().connection() as cursor:
        names = ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar", "TimeZone")
        found = [cursor.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in names]
        assert found == [False, False, False, "UTC"]
