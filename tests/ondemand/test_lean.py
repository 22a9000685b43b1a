"""Small on purpose: what the app does not load, and that its own few fields are those of the reports."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from data.queries.history import HistoryState, ReportRow, WaitRow
from ondemand.answers import PastRow, PastState, PastWait
from tests.services.passenger import ROOT

HEAVY = (
    "pandas",
    "pyarrow",
    "duckdb",
    "ibis",
    "sqlalchemy",
    "openai",
    "prometheus_api_client",
    "dash_ag_grid",
    "pages",
)


def names(kind: type) -> set[str]:
    return {one.name for one in dataclasses.fields(kind)}


@pytest.mark.parametrize(("own", "whole"), [(PastRow, ReportRow), (PastWait, WaitRow), (PastState, HistoryState)])
def test_the_rows_of_the_past_have_no_field_that_a_report_has_not(own: type, whole: type) -> None:
    assert names(own) <= names(whole)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"gpu_hours_allocated": 10.0, "gpu_hours_measured": 8.0, "gpu_hours_used": 2.0, "gpu_hours_idle": None},
        {"gpu_hours_allocated": 4.0, "gpu_hours_measured": 4.0, "gpu_hours_used": 0.0, "gpu_hours_idle": 4.0}
        | {"gpu_hours_idle_measured": 4.0},
    ],
)
def test_the_hours_of_a_row_are_those_of_the_report(values: dict[str, float | None]) -> None:
    assert PastRow("x", "x", values).hours == ReportRow("x", "x", values).hours


def test_the_central_mode_loads_nothing_heavy() -> None:
    asks = "import sys, ondemand.web, ondemand.central, ondemand.keeping; sys.stdout.write(' '.join(sys.modules))"
    words = [sys.executable, "-c", asks]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert [name for name in HEAVY if name in found] == []
    assert "ondemand.central" in found
