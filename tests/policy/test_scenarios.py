"""Every scenario file says what happens, minute by minute; the real join, verdicts and ladder must do just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.scenario_form import parse, read_scenario
from tests.policy.scenario_play import complaints

FILES = sorted((Path(__file__).parent / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_happens_as_the_file_says(path: Path) -> None:
    scenario = read_scenario(path)
    assert scenario.title and scenario.expected
    assert complaints(scenario) == []


def test_the_form_that_the_documents_show_is_the_form_that_is_played() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "policy-rules.md"
    shown = page.read_text(encoding="utf-8").split("```\ntitle")[1].split("```")[0]
    assert complaints(parse("title" + shown)) == []


@pytest.mark.parametrize("line", ["jump 7", "expect now low", "gpu01/0 util fast", "rule", "at 5"])
def test_a_line_that_cannot_be_read_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        parse(line)
