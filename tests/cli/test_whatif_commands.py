"""`fullwarp simulate` and `fullwarp job-submit-lua`: the whole command, from its words to its lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli import program
from data.errors import BadRequest, SettingsError
from tests.queries.history.attempts import Attempt, write

MORE: dict[str, Any] = {"is_batch": True, "gpus_measured": 1, "gpu_weight": 1.0, "time_limit_seconds": 86400.0}
LIMITS = '[submission.limits.gpu]\nmax_cores_per_gpu = 4\n[submission.limits."*"]\nmin_gpus_per_node = 2\n'


pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root is staff of its own settings file")


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    write(
        tmp_path / "history",
        [
            Attempt(1, 0, 3, steps=(0,) * 36, more=MORE),
            Attempt(2, 0, 3, user="bob", steps=(0,) * 24 + (90,) * 12, more=MORE),
            Attempt(3, 0, 8, user="bob", steps=(7,) * 96, more=MORE),
        ],
    )
    file = tmp_path / "fullwarp.toml"
    file.write_text(
        f"""
[identity]
kind = "unix"
staff_users = ["root"]
[slurm]
kind = "simulated"
[metrics]
kind = "simulated"
[demo]
history_days = 0
[cache]
directory = "{tmp_path}/cache"
[history]
directory = "{tmp_path}/history"
{LIMITS}"""
    )
    return file


def run(file: Path, *words: str) -> Result:
    return CliRunner().invoke(program, ["--config", str(file), *words], env={"COLUMNS": "140"})


RANGE = ("--since", "2026-03-01", "--until", "2026-03-05")


def test_a_rule_is_replayed_and_told_on_screen_and_as_json(settings_file: Path) -> None:
    lines = run(settings_file, "simulate", "idle", *RANGE).stdout
    assert "Rule idle: idle for 45 min" in lines
    assert "Cancelled    2 jobs of 2 users (6.0 GPU-h)" in lines
    assert "False alarms 1 job of 1 user (3.0 GPU-h)" in lines
    assert "cores_per_gpu: 3 jobs of 2 users" in lines
    found = json.loads(run(settings_file, "simulate", "--rule", "idle", *RANGE, "--json").stdout)
    assert found["rules"][0]["outcome"]["cancelled"] == {"jobs": 2, "users": 2, "gpu_hours": 6.0}
    assert found["rules"][0]["false_alarms"][0]["job"] == "2"
    assert found["submission"]["refused"]["jobs"] == 3


@pytest.mark.parametrize(("threshold", "cancelled"), [("9%", 3), ("0.09", 3), ("5%", 2)])
def test_another_threshold_is_tried(settings_file: Path, threshold: str, cancelled: int) -> None:
    words = ("simulate", "low-mean", *RANGE, "--threshold", threshold, "--window", "45m", "--json")
    assert json.loads(run(settings_file, *words).stdout)["rules"][0]["outcome"]["warned"]["jobs"] == cancelled


def test_the_curve_marks_the_rule_as_it_is(settings_file: Path) -> None:
    lines = run(settings_file, "simulate", "low-mean", *RANGE, "--curve").stdout
    assert "mean of 4 h below 5 % (as it is)" in lines
    assert lines.count("below 9 %") == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("simulate", "idle", "--threshold", "x"), "--threshold 'x' is no share"),
        (("simulate", "low-mean", "--threshold", "9"), "--threshold '9' is no share"),
        (("simulate", "low-mean", "--threshold", "nan"), "--threshold 'nan' is no share"),
        (("simulate", "low-mean", "--threshold", "inf%"), "--threshold 'inf%' is no share"),
        (("simulate", "low-mean", "--window", "4 moons"), "--window '4 moons'"),
        (("simulate", "no-rule"), "no rule no-rule"),
    ],
)
def test_a_wrong_word_is_named(settings_file: Path, words: tuple[str, ...], says: str) -> None:
    done = run(settings_file, *words)
    assert isinstance(done.exception, BadRequest)
    assert says in str(done.exception)


def test_the_script_is_printed_or_written(settings_file: Path, tmp_path: Path) -> None:
    text = run(settings_file, "job-submit-lua").stdout
    assert "function slurm_job_submit(job_desc, part_list, submit_uid)" in text
    assert '["gpu"] = { cores_per_gpu = 4,' in text
    made = tmp_path / "job_submit.lua"
    assert run(settings_file, "job-submit-lua", "--output", str(made)).exit_code == 0
    assert made.read_text() == text


def test_without_limits_there_is_no_script(settings_file: Path) -> None:
    settings_file.write_text(settings_file.read_text().replace(LIMITS, ""))
    done = run(settings_file, "job-submit-lua")
    assert isinstance(done.exception, SettingsError)
    assert "submission.limits is empty" in str(done.exception)
