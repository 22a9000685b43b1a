"""`fullwarp collect` and `fullwarp history` as a person meets them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import cli
from commands.history import directory_of
from data.errors import SettingsError
from data.history.state import PassNumbers
from data.history.store import writing
from terminal.collecting import pass_lines
from tests.history.small_csv import HEAD, MAP

CSV = HEAD + "1,2026-02-01T10:00,2026-02-01T12:00,2,0.5,alice\n"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("FULLWARP_HISTORY__DIRECTORY", str(tmp_path / "history"))
    monkeypatch.setenv("FULLWARP_CACHE__DIRECTORY", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.csv").write_text(CSV)
    (tmp_path / "map.toml").write_text(MAP)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fullwarp", "--demo", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return int(ended.value.code or 0), out, err

    return call


def test_an_import_says_what_came_in_and_a_user_can_be_forgotten(run: Any) -> None:
    code, out, _ = run("collect", "--from-csv", "jobs.csv", "--columns", "map.toml")
    assert code == 0
    assert "1 jobs of 1 users were imported" in out and "4.00 GPU-hours allocated, 2.00 used (50.0%)" in out
    code, out, _ = run("history", "forget", "alice")
    assert code == 0 and "3 files were changed" in " ".join(out.split())


def test_a_pass_that_looks_again_at_unmeasured_jobs_does_not_call_them_changed() -> None:
    first = str(next(iter(pass_lines(PassNumbers(ended=35, written=29, running=9), 80))))
    assert first == "35 jobs had ended, 29 of them were new, changed or not measured yet; 9 are running."


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--from-csv", "jobs.csv"), "belong together"),
        (("--since", "soon"), "is not a time"),
        (("--every", "never"), "is not a time from 1s on"),
        (("--every", "0s"), "is not a time from 1s on"),
        (("--from-csv", "nothing.csv", "--columns", "map.toml"), "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(run: Any, arguments: tuple[str, ...], why: str) -> None:
    code, out, err = run("collect", *arguments)
    assert (code, out) == (2, "") and why in err


def test_a_second_collector_says_who_is_at_work(run: Any, tmp_path: Path) -> None:
    with writing(tmp_path / "history"):
        code, _, err = run("collect", "--wait", "0", "--from-csv", "jobs.csv", "--columns", "map.toml")
    assert code == 2 and "is writing to the history" in err


def test_without_a_folder_the_setting_is_named() -> None:
    with pytest.raises(SettingsError, match=r"history\.directory is empty"):
        directory_of(None)
