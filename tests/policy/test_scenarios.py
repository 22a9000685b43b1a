"""Every scenario file says what happens, minute by minute; the real join, verdicts and ladder must do just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.scenario_form import read_scenario
from tests.policy.scenario_play import complaints

FILES = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_happens_as_the_file_says(path: Path) -> None:
    scenario = read_scenario(path)
    assert scenario.title and scenario.expected
    assert complaints(scenario) == []
