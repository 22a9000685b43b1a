"""Answers for all tabs: asked once, old ones only while they may still be shown, and never a wait for each question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from data.errors import CannotKnow, NotFound, SourceDenied, SourceError, SourceUnreachable
from ondemand.keeping import FAILED_SECONDS, MOST_FILES, OLDEST_SECONDS, Keeper, own_folder


class Source:
    """Counts how often it is asked; `fault` is raised while it is set."""

    def __init__(self) -> None:
        self.asked = 0
        self.fault: Exception | None = None

    def __call__(self) -> Any:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return {"asked": self.asked}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source() -> Source:
    return Source()


def test_an_answer_is_asked_for_again_when_it_is_old(clock: Clock, source: Source) -> None:
    keeper = Keeper(None, clock)
    for wait, asked in ((0, 1), (54.9, 1), (0.1, 2)):
        clock.now += wait
        assert keeper.get("jobs", 55, source).body == {"asked": asked}


def test_a_clock_that_is_put_back_keeps_nothing_for_ever(clock: Clock, source: Source) -> None:
    keeper = Keeper(None, clock)
    keeper.get("jobs", 55, source)
    clock.now -= 3600
    assert keeper.get("jobs", 55, source).body == {"asked": 2}


def test_while_it_fails_the_old_answer_says_so_and_then_ends(clock: Clock, source: Source) -> None:
    keeper = Keeper(None, clock)
    began = clock.now
    keeper.get("jobs", 55, source)
    source.fault = SourceUnreachable("it is away")
    clock.now += 60
    found = keeper.get("jobs", 55, source)
    assert (found.body, found.asked_at, found.fault) == ({"asked": 1}, began, "it is away")
    clock.now = began + OLDEST_SECONDS
    with pytest.raises(SourceUnreachable):
        keeper.get("jobs", 55, source)


def test_who_is_refused_sees_nothing_from_before(clock: Clock, source: Source) -> None:
    keeper = Keeper(None, clock)
    keeper.get("jobs", 55, source)
    source.fault = SourceDenied("the token is not known")
    clock.now += 60
    with pytest.raises(SourceDenied):
        keeper.get("jobs", 55, source)


def test_after_a_failure_other_questions_do_not_wait_for_it_too(clock: Clock, source: Source) -> None:
    keeper = Keeper(None, clock)
    source.fault = SourceUnreachable("it is away")
    for name in ("jobs", "status", "jobs"):
        with pytest.raises(SourceError):
            keeper.get(name, 55, source)
    assert source.asked == 1
    source.fault = None
    clock.now += FAILED_SECONDS
    assert keeper.get("jobs", 55, source).fault == ""
    assert keeper.get("status", 55, source).fault == ""


@pytest.mark.parametrize("fault", [CannotKnow("no history"), SourceError("answered 500"), NotFound("no such job")])
def test_a_question_without_an_answer_stops_no_other(clock: Clock, source: Source, fault: Exception) -> None:
    keeper = Keeper(None, clock)
    source.fault = fault
    with pytest.raises(type(fault)):
        keeper.get("reports/day", 55, source)
    source.fault = None
    assert keeper.get("jobs", 55, source).fault == ""


def test_what_is_not_there_any_more_is_not_shown_from_before(clock: Clock, source: Source) -> None:
    keeper = Keeper(None, clock)
    keeper.get("jobs/1", 55, source)
    source.fault = NotFound("no such job")
    clock.now += 60
    with pytest.raises(NotFound):
        keeper.get("jobs/1", 55, source)
    source.fault = SourceError("it is away")
    with pytest.raises(SourceError):
        keeper.get("jobs/1", 55, source)


def test_files_outlive_the_process_and_stay_few(tmp_path: Path, clock: Clock, source: Source) -> None:
    first = Keeper(tmp_path, clock)
    for number in range(MOST_FILES + 10):
        first.get(f"jobs/{number}", 55, source)
    assert len(list(tmp_path.iterdir())) == MOST_FILES
    asked = source.asked
    assert Keeper(tmp_path, clock).get(f"jobs/{MOST_FILES + 9}", 55, source).body == {"asked": asked}
    assert source.asked == asked


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"name": "jobs", "asked_at": "x", "body": 1}', '{"name": "o"}']
)
def test_a_damaged_file_is_no_file(tmp_path: Path, clock: Clock, source: Source, text: str) -> None:
    keeper = Keeper(tmp_path, clock)
    keeper.get("jobs", 55, source)
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    assert Keeper(tmp_path, clock).get("jobs", 55, source).body == {"asked": 2}


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path, clock: Clock, source: Source) -> None:
    keeper = Keeper(tmp_path / "gone", clock)
    assert keeper.get("jobs", 55, source).body == {"asked": 1}
    assert own_folder("") is None
    (tmp_path / ".cache").touch()
    assert own_folder(str(tmp_path)) is None


def test_a_folder_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    (tmp_path / ".cache" / "fullwarp").mkdir(parents=True, mode=0o755)
    (tmp_path / ".cache" / "fullwarp").chmod(0o755)
    assert own_folder(str(tmp_path)) is None
