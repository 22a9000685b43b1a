"""A collector killed at any of its side effects loses nothing, and the next pass makes the history right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WANTED_STEPS = {
    "mark: in place",
    "usage: written",
    "usage: in place",
    "jobs: to be written",
    "jobs: in place",
    "allocations: synced",
    "allocations: in place",
    "snapshots: in place",
    "pseudonym key: in place",
    "usage part: removed",
    "snapshots day: removed",
    "jobs emptied: removed",
    "forgotten: to be written",
    "forgotten: in place",
    "damaged: to be set aside",
    "damaged: set aside",
}


@pytest.mark.timeout(600)
def test_killed_at_every_side_effect_nothing_is_lost_and_nothing_doubled() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.history.killed_collector"], cwd=ROOT, capture_output=True, text=True, timeout=590
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["step"] for one in found} >= WANTED_STEPS
    assert [one for one in found if one["lost"] or one["doubled"] or one["different"]] == []
