"""The history's panel on Health: what it says in each state, and what only staff read."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from components.history_health import MOST_FILES, history_health_panel
from data.history.files import Damaged
from data.history.state import PassNumbers
from data.queries.history_health import HistoryHealth
from tests.components.snapshots import NOON
from tests.components.test_overview_parts import words

LAST = PassNumbers(ended=7, running=2, unmeasured=1, broken=3, flagged={"negative wait": 2}, error="HTTP 500")


def test_everyone_reads_the_last_pass_and_what_it_left_out() -> None:
    found = HistoryHealth(NOON, 40, date(2026, 1, 21), 0, 0, LAST)
    text = words(history_health_panel(found, is_staff=False))
    for part in ("collected", "40 of jobs, the first is 2026-01-21", "7 ended jobs, 2 running", "1 job with GPUs"):
        assert part in text
    assert "2 negative wait" in text and "2026-03-02 12:00 UTC" in text and "HTTP 500" not in text


def test_staff_read_the_error_and_the_damaged_files_up_to_a_limit() -> None:
    files = tuple(Damaged(Path(f"/h/jobs/{number}.parquet"), "it is damaged") for number in range(MOST_FILES + 2))
    found = HistoryHealth(NOON, 40, date(2026, 1, 21), MOST_FILES, 2, LAST, files)
    text = words(history_health_panel(found, is_staff=True))
    assert "some files are damaged" in text and "20 left out of reports, 2 set aside" in text
    assert "/h/jobs/0.parquet: it is damaged" in text and "and 2 more" in text and "HTTP 500" in text


def test_a_folder_that_cannot_be_read_has_no_numbers() -> None:
    text = words(history_health_panel(HistoryHealth(error="no permission"), is_staff=True))
    assert "cannot be read" in text and text.count("not known") == 2 and "no permission" in text


def test_a_history_that_no_collector_has_filled_says_so_unless_the_demo_makes_it() -> None:
    never = words(history_health_panel(HistoryHealth(days=0, damaged=0, set_aside=0), is_staff=False))
    made = words(history_health_panel(HistoryHealth(days=90, damaged=0, set_aside=0, is_made=True), is_staff=False))
    assert "not collected yet" in never and "never" in never
    assert "made by the demo" in made and "Last pass" not in made
