"""Rows of the detailed table: weighted by their own measured GPU-hours, blanks last, nothing invented."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from data.applications import application_of
from data.errors import BadRequest
from data.findings import FINDINGS
from data.findings.advice import advice
from data.findings.diagnosis import DIAGNOSES
from data.queries.metrics import COLUMNS, Group
from data.queries.metrics.flat import HEAD, csv_text, flat_rows, parquet_bytes
from data.queries.metrics.model import MetricsTable, Origin
from data.queries.metrics.pieces import OF_JOBS
from data.queries.metrics.rows import SORTS, keep, options_of, row_of, rows_of
from settings import ApplicationSettings, FindingLimits
from tests.queries.metric_builders import HOUR, piece, question


def table_of(*pieces: Any, group: Group = Group.USER) -> MetricsTable:
    rows = rows_of(pieces, question(group))
    return MetricsTable(HOUR.start, HOUR.end, group, Origin.LIVE, rows, row_of("", pieces, group))


def test_means_are_weighted_by_measured_gpu_hours() -> None:
    row = rows_of([piece("1", 40, 0.8), piece("2", 60, 0.4)], question())[0]
    assert row.value("utilization") == pytest.approx(0.56)
    assert (row.hours.allocated, row.hours.used, row.jobs) == (100, pytest.approx(56), 2)


def test_each_column_is_weighted_by_its_own_hours() -> None:
    seen = piece("1", 10, 0.9, cells={"sm_activity": 0.3})
    half = piece("2", 10, 0.5, cells={"sm_activity": 0.7}, measured=5)
    row = rows_of([seen, half, piece("3", 20, None)], question())[0]
    assert row.cells["sm_activity"].value == pytest.approx((0.3 * 10 + 0.7 * 5) / 15)
    assert (row.cells["sm_activity"].hours, row.hours.coverage) == (15, pytest.approx(15 / 40))


def test_what_nobody_measured_is_absent_and_not_zero() -> None:
    row = rows_of([piece("1", 4, None)], question())[0]
    assert row.cells == {} and row.value("utilization") is None and row.hours.used is None
    assert row.utilization_metric is None and row.hours.coverage == 0


@pytest.mark.parametrize("name", ["utilization", "sm_activity", "finding"])
@pytest.mark.parametrize("way", ["", "-"])
def test_rows_without_the_value_come_last_both_ways(name: str, way: str) -> None:
    pieces = [
        piece("1", 1, 0.2, user="a", cells={"sm_activity": 0.1}, findings=("idle",)),
        piece("2", 2, 0.9, user="b", cells={"sm_activity": 0.8}, findings=("idle",)),
        piece("3", 9, None, user="c"),
    ]
    names = [row.name for row in rows_of(pieces, question(sort=way + name))]
    assert names == (["b", "a", "c"] if way else ["a", "b", "c"])


def test_every_column_sorts_and_another_is_refused() -> None:
    for name in (*SORTS, *(f"-{name}" for name in SORTS)):
        rows_of([piece()], question(sort=name))
    assert set(COLUMNS) < set(SORTS)
    with pytest.raises(BadRequest, match="luck"):
        rows_of([piece()], question(sort="-luck"))


def test_models_stand_side_by_side_when_rows_are_split() -> None:
    pieces = [piece("1", 3, 0.9, "H100"), piece("2", 1, 0.3, "A100 80GB"), piece("2", 1, 0.1, "A100 80GB 1g.10gb")]
    whole = rows_of(pieces, question())[0]
    assert whole.models == (("H100", 3), ("A100 80GB", 1), ("A100 80GB 1g.10gb", 1))
    split = rows_of(pieces, question(by_model=True))
    assert [(row.name, row.models[0][0], row.value("utilization")) for row in split] == [
        ("alice", "H100", pytest.approx(0.9)),
        ("alice", "A100 80GB", pytest.approx(0.3)),
        ("alice", "A100 80GB 1g.10gb", pytest.approx(0.1)),
    ]
    assert len({row.key for row in split}) == 3


def test_findings_carry_their_own_hours_and_jobs() -> None:
    pieces = [
        piece("1", 4, 0.9, findings=("small_kernels", "no_tensor_cores")),
        piece("1", 4, 0.9, findings=("small_kernels",)),
        piece("2", 2, 0.0, measured=1, findings=("idle",)),
    ]
    found = rows_of(pieces, question())[0].findings
    assert [(use.id, use.gpu_hours, use.jobs) for use in found] == [
        ("small_kernels", 8, 1),
        ("no_tensor_cores", 4, 1),
        ("idle", 1, 1),
    ]
    only = rows_of([*pieces, piece("3", 5, 0.5, user="bob")], question(finding="idle"))
    assert [row.name for row in only] == ["alice"] and only[0].hours.allocated == 10


def test_filters_combine_and_options_are_of_everything_seen() -> None:
    pieces = [piece("1", user="a", account="x"), piece("2", user="b", account="x", model="A30"), piece("3", user="b")]
    kept = keep(pieces, question(users=frozenset({"b"}), accounts=frozenset({"x"})))
    assert [one.owner.job for one in kept] == ["2"]
    assert keep(pieces, question(models=frozenset({"A30"}))) == [pieces[1]]
    assert options_of(pieces)["user"] == ("a", "b") and options_of(pieces)["model"] == ("A30", "H100")
    assert [one.owner.job for one in keep(pieces, question(text=" PHYS "))] == ["3"]


def test_csv_and_parquet_hold_the_same_unrounded_numbers() -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = table_of(piece("1", 3, 1 / 3, cells={"power_watts": 412.25}), piece("2", 1, None, user="=cmd()"))
    rows = list(csv.DictReader(io.StringIO(csv_text(table))))
    stored = pq.read_table(io.BytesIO(parquet_bytes(table))).to_pylist()
    assert tuple(rows[0]) == tuple(stored[0]) == HEAD
    for plain, text, row in zip(flat_rows(table), rows, stored, strict=True):
        assert row == plain
        assert {key: "" if value is None else str(value) for key, value in plain.items()} == {
            key: value.removeprefix("'") for key, value in text.items()
        }
    assert rows[1]["row"] == "'=cmd()" and rows[1]["utilization"] == "" and stored[1]["utilization"] is None


@pytest.mark.parametrize(
    ("name", "application"),
    [
        ("sweep_17", "sweep"),
        ("sweep-3f9a2c1d", "sweep"),
        ("train_llm_8b", "train_llm_8b"),
        ("train_llm_8b-20260301-1234", "train_llm_8b"),
        ("resnet152", "resnet152"),
        ("job20260301", "job"),
        ("md.run.0042", "md.run"),
        ("array[3]", "array"),
        ("fine tune (12)", "fine tune"),
        ("eval-v2.1", "eval"),
        ("deadbeef", "deadbeef"),
        ("decade", "decade"),
        ("x_facade", "x_facade"),
        ("  ", "(no name)"),
        ("1234", "(a number)"),
        ("_7_", "(a number)"),
        ("Ünï_9", "Ünï"),
        ("a" * 5000, "a" * 5000),
        ("a-1" * 2000, "a-1" * 1999 + "a"),
    ],
)
def test_an_application_is_the_name_without_what_tells_runs_apart(name: str, application: str) -> None:
    assert application_of(name) == application


def test_a_sites_own_pattern_goes_before_the_rule() -> None:
    assert application_of("proj7:gromacs:run3", r"^[^:]+:([^:]+)") == "gromacs"
    assert application_of("GROMACS_2024 prod", r"(?i)gromacs|lammps") == "GROMACS"
    assert application_of("other_12", r"(?i)gromacs|lammps") == "other"
    with pytest.raises(ValueError, match="regular expression"):
        ApplicationSettings(name_pattern="(")


def test_every_diagnosis_has_its_words_with_the_sites_limits() -> None:
    words = advice(FindingLimits(small_kernels_sm=0.33))
    assert set(DIAGNOSES) | set(OF_JOBS) | {"unbalanced", "mostly_idle"} == set(words)
    assert set(words) <= set(FINDINGS)
    assert "33 %" in words["small_kernels"].when and all(one.advice for one in words.values())
