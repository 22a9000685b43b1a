"""The tutorial, as somebody follows it: every command in it runs, and says what the text promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial" / "first-steps.md").read_text(encoding="utf-8")
COMMANDS = [line[2:] for block in re.findall(r"```console\n(.*?)```", TUTORIAL, re.S) for line in block.splitlines()]


def ran(script: str, folder: Path) -> str:
    """What a shell prints in the checkout; the demo's history is kept away from the user's own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "COLUMNS": "120"}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tutorial")


def test_it_begins_with_make_demo_and_every_line_is_a_command() -> None:
    assert COMMANDS[0] == "make demo" and len(COMMANDS) > 7
    assert all(re.match(r"(JOB=\$\()?\.venv/bin/fullwarp --demo ", command) for command in COMMANDS[1:])


def test_every_command_runs_and_says_what_the_text_promises(folder: Path) -> None:
    program = f"{Path(sys.executable).parent}/"
    script = "\necho ---\n".join(command.replace(".venv/bin/", program) for command in COMMANDS[1:])
    said = ran(script, folder).split("---\n")
    by_command = dict(zip(COMMANDS[1:], said, strict=True))
    assert [one for one, text in by_command.items() if not text.strip() and not one.startswith("JOB=")] == []
    assert "held, idle" in said[0] and "running GPU jobs" in said[2]
    report = by_command['.venv/bin/fullwarp --demo job "$JOB"']
    # A job that was idle all of the last day may have worked enough before it.
    assert report.startswith("Job ") and re.search(r"^(! .*GPU|Nothing found to change)", report, re.M)
