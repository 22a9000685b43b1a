"""What the pages say of the files is so: the columns, and the lines that read them without the product."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from data.history.datasets import DATASETS
from terminal.history_reference import history_page
from tests.history.small_cluster import NOON, SmallCluster, ended, summary

ROOT = Path(__file__).resolve().parents[2]
HOUR = timedelta(hours=1)


def block(language: str, folder: Path) -> str:
    """The first block of the page in a language, about the files in `folder`."""
    found = re.search(rf"```{language}\n(.*?)```", history_page(), re.DOTALL)
    assert found
    return found[1].replace("/var/lib/fullwarp/history", str(folder)).replace("2026-06", "2026-03")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = SmallCluster(tmp_path_factory.mktemp("pages") / "history")
    cluster.done = [
        ended(1, NOON - 9 * HOUR, NOON - HOUR, 2, admin_comment=summary(0.25, 2)),
        ended(2, NOON - 3 * HOUR, NOON - HOUR),
    ]
    cluster.collect()
    return cluster.directory


def test_the_page_in_the_docs_is_the_generated_one() -> None:
    assert (ROOT / "docs/reference/history.md").read_text(encoding="utf-8") == history_page(), "run `make docs`"


def test_every_column_has_a_row_with_its_meaning() -> None:
    page = history_page()
    columns = [column for dataset in DATASETS.values() for column in dataset.columns]
    assert [column.name for column in columns if f"| `{column.name}` |" not in page or not column.help] == []


def test_the_query_for_duckdb_gives_the_hours(folder: Path) -> None:
    assert duckdb.sql(block("sql", folder)).fetchall() == [("alice", pytest.approx(18.0), pytest.approx(0.25))]


def test_the_lines_for_pandas_give_the_jobs(folder: Path) -> None:
    names: dict[str, pd.DataFrame] = {}
    exec(block("python", folder), names)
    assert sorted(names["jobs"]["gpu_hours_allocated"]) == [2.0, 16.0]
