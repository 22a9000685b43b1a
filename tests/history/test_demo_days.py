"""The demo's history on disk: made once, newest first, whole by day, and in step with its clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data.history.demo import making
from data.history.demo.keeper import DemoHistory, demo_folder
from data.history.demo.making import make, missing_days
from data.history.demo.note import MADE, announce, progress_words, read_made
from data.history.files import files
from data.history.store import writing
from data.settings_file import demo_settings
from data.simulation import World
from settings import Settings

NOW = datetime(2026, 4, 8, 15, tzinfo=UTC)
FRESH = timedelta(minutes=10)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four nodes are enough."""
    monkeypatch.setattr(making, "World", lambda seed: World(seed, 4))


def made_until(directory: Path, now: datetime, days: int) -> list[date]:
    missing = missing_days(read_made(directory), now, days, FRESH)
    with writing(directory) as store:
        make(store, Settings(), now, missing, days, processes=0)
    return missing


def rows(directory: Path, name: str) -> pa.Table:
    return pa.concat_tables([pq.ParquetFile(path).read() for path in files(directory, name).paths])


def key(row: dict) -> tuple:  # type: ignore[type-arg]
    return tuple(row[name] for name in ("cluster", "job_id", "submit_time", "start_time"))


def test_hours_of_each_job_are_there_once_and_sum_to_it(tmp_path: Path) -> None:
    made_until(tmp_path, NOW, 5)
    names = ["cluster", "job_id", "submit_time", "start_time", "gpu_hours_allocated", "gpu_hours_used"]
    jobs = rows(tmp_path, "jobs").select(names).to_pylist()
    hours = rows(tmp_path, "usage").select([*names, "hour"]).to_pylist()
    assert len({(*key(row), row["hour"]) for row in hours}) == len(hours)
    assert len({key(row) for row in jobs}) == len(jobs) > 50
    whole = [row for row in jobs if row["start_time"] >= datetime(2026, 4, 4, tzinfo=UTC)]
    for row in whole:
        mine = [hour["gpu_hours_allocated"] for hour in hours if key(hour) == key(row)]
        assert sum(mine) == pytest.approx(row["gpu_hours_allocated"])
    assert len(whole) > 40


def test_a_day_made_alone_has_the_hours_of_jobs_that_ended_later(tmp_path: Path) -> None:
    together, alone = tmp_path / "together", tmp_path / "alone"
    made_until(together, NOW, 3)
    with writing(alone) as store:
        make(store, Settings(), NOW, [date(2026, 4, 6)], 3, processes=0)
    one, other = (
        pq.ParquetFile(folder / "usage" / "day=2026-04-06" / "rows.parquet").read() for folder in (together, alone)
    )
    assert one.num_rows == other.num_rows > 50
    assert one.select(["job_id", "hour", "gpu_hours_used"]).equals(other.select(["job_id", "hour", "gpu_hours_used"]))


def test_what_is_made_stays_and_today_is_made_again(tmp_path: Path) -> None:
    assert made_until(tmp_path, NOW, 2) == [date(2026, 4, 8), date(2026, 4, 7)]
    assert made_until(tmp_path, NOW + timedelta(minutes=1), 2) == []
    assert made_until(tmp_path, NOW + timedelta(hours=1), 2) == [date(2026, 4, 8)]
    assert made_until(tmp_path, NOW + timedelta(days=1), 2) == [date(2026, 4, 9), date(2026, 4, 8)]


def test_a_patient_question_waits_for_its_range_and_no_longer(tmp_path: Path) -> None:
    told: list[int] = []

    class Bar:
        def __init__(self, title: str) -> None:
            assert "added up" in title or "adding up" in title

        def __enter__(self):  # type: ignore[no-untyped-def]
            return lambda done, of, what: told.append(done)

        def __exit__(self, *error: object) -> None:
            return None

    demo = DemoHistory(Settings(), tmp_path, lambda: NOW, 90)
    demo.is_patient, demo.bar = True, Bar  # type: ignore[assignment]
    demo.prepare(NOW - timedelta(days=1))
    assert told == [1, 2]
    assert sorted(read_made(tmp_path).until) == [date(2026, 4, 7), date(2026, 4, 8)]
    assert progress_words(tmp_path, date(2026, 4, 7)) is None
    assert progress_words(tmp_path, date(2026, 4, 1)) == "The demo's history is being added up: 2 of 90 days so far."


@pytest.mark.parametrize("text", ["", "{", "[]", '{"until": 3, "days": 1}', '{"until": {"x": "y"}, "days": 1}'])
def test_a_damaged_note_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MADE).write_text(text)
    assert read_made(tmp_path).until == {}


def test_the_demo_keeps_its_history_in_the_private_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert demo_settings().history.directory == demo_folder(tmp_path / "fullwarp", 7)
    monkeypatch.setenv("FULLWARP_DEMO__HISTORY_DAYS", "0")
    assert demo_settings().history.directory is None


def test_before_the_first_day_is_there_a_page_says_how_far_it_is(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    announce(directory, 90)
    assert progress_words(directory, NOW.date()) == "The demo's history is being added up: 0 of 90 days so far."
    made_until(directory, NOW, 1)
    before = read_made(directory)
    announce(directory, 90)
    assert read_made(directory) == before and len(before.until) == 1
