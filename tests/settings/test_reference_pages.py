"""The generated pages and the example file say what the code says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from api.reference import api_page
from cli import program
from data.findings import FINDINGS
from data.metrics.registry import METRICS
from data.settings_file import load_settings, setting_fields
from settings import Settings
from terminal.findings_reference import findings_page
from terminal.options_reference import options_page
from terminal.reference import example_file, metrics_page, settings_page
from terminal.report_reference import reports_page
from terminal.tools_reference import tools_page

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("settings.md", settings_page()),
        ("metrics.md", metrics_page()),
        ("reports.md", reports_page()),
        ("findings.md", findings_page()),
        ("options.md", options_page(program)),
        ("tools.md", tools_page()),
        ("api.md", api_page()),
    ],
)
def test_the_page_in_the_docs_is_the_generated_one(name: str, page: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == page, "run `make docs`"


def test_every_field_and_metric_has_a_row() -> None:
    assert [name for name, _ in setting_fields() if f"| `{name.rpartition('.')[2]}` |" not in settings_page()] == []
    assert [name for name in METRICS if f"| `{name}` |" not in metrics_page()] == []
    assert [name for name in FINDINGS if f"| `{name}` |" not in findings_page()] == []
    assert findings_page().count("|  |") == 0


def test_the_example_as_written_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "fullwarp.toml"
    path.write_text(example_file(), encoding="utf-8")
    assert load_settings(path).settings == Settings()


def test_the_example_with_every_value_uncommented_is_the_default(tmp_path: Path) -> None:
    lines = [line.removeprefix("#") for line in example_file().splitlines() if not line.startswith("# ")]
    path = tmp_path / "fullwarp.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    assert sum(len(part) if isinstance(part, dict) else 1 for part in given.values()) == len(list(setting_fields()))
    assert load_settings(path).settings == Settings()
