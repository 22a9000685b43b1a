"""The reports on the engines that a site moves to: run on a real PostgreSQL, compiled for Trino and ClickHouse."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import ibis
import pyarrow as pa
import pytest

from data.history.datasets import DATASETS
from data.history.tables import table_of
from data.model import Role, Viewer
from data.queries.history import (
    DEFAULT_COLUMNS,
    Group,
    HistoryFilter,
    ReportQuery,
    charts,
    found,
    grouping,
    groups,
    question,
    report,
    summing,
    waits,
)
from data.queries.history.compiled import named_table, split_by_node
from data.queries.history.groups import SPLIT
from data.queries.history.question import HOURS_SCHEMA, Question
from data.queries.history.relations import Tables
from data.queries.history.span import range_of
from data.queries.history.view_sql import schema_used
from tests.queries.history.attempts import Attempt, asked, sources_of, write

STAFF = Viewer("root", Role.STAFF)
ATTEMPTS = (
    Attempt(
        1,
        0,
        10,
        gpus=2,
        used=0.9,
        memory_gib=20,
        findings=("small_kernels",),
        nodes=("gpu01", "gpu02"),
        metrics={"gpu_utilization": 0.9, "sm_activity": 0.2},
    ),
    Attempt(2, -5, 5, gpus=4, used=0.25, user="bob", account="bio", path=("science", "bio"), findings=("idle",)),
    Attempt(3, 20, None, gpus=1, until=30, used=0.0, idle=1.0, wait=None),
    Attempt(4, 6, 7, gpus=2, used=None, user="it's", account="law", path=("law",), state="FAILED", model=None),
)
# One of each way in which attempts are made: the columns are the same for every other group.
WITH_ALL_COLUMNS = (Group.NONE, Group.NODE, Group.DAY)
# Compiled as another one is: by one column of text, by the account's path, by a bucket of time.
ALIKE = {
    **dict.fromkeys((Group.PARTITION, Group.QOS, Group.MODEL, Group.STATE), Group.USER),
    Group.DEPARTMENT: Group.ACCOUNT,
    Group.WEEK_HOUR: Group.DAY,
}
VIEWS = {"before": "usage", "open": "usage", "open_jobs": "jobs", "edge_jobs": "jobs"}
NODES = named_table(split_by_node(named_table(DATASETS["usage"].schema, "usage")).schema().to_pyarrow(), "nodes")


class Nowhere:
    """A range without files."""

    def __init__(self, query: ReportQuery, *, has_edges: bool) -> None:
        self.span = range_of(query.since, query.until)
        self.has_edges = has_edges


def asks(
    by: Group = Group.USER, *, has_edges: bool = True, columns: tuple[str, ...] = DEFAULT_COLUMNS, **filters: Any
) -> Question:
    query = asked(0, 24, by=by, filter=HistoryFilter(**filters), columns=columns)
    reading: Any = Nowhere(query, has_edges=has_edges)
    return Question(STAFF, query, reading, ZoneInfo("UTC"), {"H100": 2.0, "default": 1.0}, {})


def expressions(by: Group, *, has_edges: bool) -> dict[str, Any]:
    one = asks(by, has_edges=has_edges, columns=DEFAULT_COLUMNS if by in WITH_ALL_COLUMNS else ())
    measures = one.wanted().measures
    made = {"waits": waits.together(waits.begun(one))}
    if by in SPLIT:
        made["sums"] = summing._sums(one, measures)
    else:
        kept = summing._kept(one, measures)
        made |= {"with waits": kept, "kept waits": waits.together(waits.listed(kept.schema().to_pyarrow()))}
    if by is not Group.NONE:
        made["waits by group"] = waits.by_pairs(one, None)
    if by is Group.JOB:
        made["first"] = summing._first(one, measures, 10)
    if by in (Group.NONE, Group.ACCOUNT):
        made |= {"findings": found.by_finding(one), "best": found.best_of(one, 3)}
    if by is Group.NONE:
        made["map"] = charts._bins_of(one, (0, 0.5, 1), (0, 10))()
    return made


@pytest.mark.parametrize("by", [by for by in Group if by not in ALIKE])
def test_every_report_compiles_for_trino_and_clickhouse(by):
    for one in expressions(by, has_edges=True).values():
        assert all("SELECT" in str(ibis.to_sql(one, dialect=dialect)) for dialect in ("trino", "clickhouse"))


@pytest.mark.parametrize(("by", "like"), ALIKE.items())
def test_groups_that_are_one_column_of_text_are_alike_but_for_its_name(by, like):
    rows = named_table(schema_used("jobs"), "jobs").mutate(path=ibis.literal("a"), bucket=ibis.literal("b"))
    one, other = (grouping.raw_group(group, rows) for group in (by, like))
    assert one.keys() == other.keys()
    assert [value.type() for value in one.values()] == [value.type() for value in other.values()]
    assert (by in SPLIT) == (like in SPLIT) and (by in groups.IN_TIME) == (like in groups.IN_TIME)


def test_every_filter_compiles_for_trino_and_clickhouse():
    names = ("users", "accounts", "departments", "partitions", "qos", "models", "states", "findings", "applications")
    one = asks(**{name: frozenset({"x"}) for name in names}, sizes=frozenset({"1"}))
    for dialect in ("trino", "clickhouse", "postgres"):
        assert "GROUP BY" in str(ibis.to_sql(summing._sums(one, one.wanted().measures), dialect=dialect))


@pytest.fixture(scope="module")
def on_postgres(postgres_port):
    """The same rows in tables of a real server."""
    backend = ibis.postgres.connect(
        host="127.0.0.1", port=postgres_port, user="fullwarp", database="fullwarp", password=""
    )
    finished = table_of(DATASETS["jobs"], [one.job_row() for one in ATTEMPTS if one.ends is not None])
    usage = table_of(DATASETS["usage"], [row for one in ATTEMPTS for row in one.usage_rows()])
    _fill(backend, "jobs", finished.select(schema_used("jobs").names))
    _fill(backend, "usage", usage.drop_columns(["by_node"]))
    nodes = [
        {name: part.get(name, row.get(name)) for name in NODES.columns}
        for row in usage.to_pylist()
        for part in row["by_node"]
    ]
    _fill(backend, "nodes", pa.Table.from_pylist(nodes, schema=NODES.schema().to_pyarrow()))
    for name, of in VIEWS.items():
        backend.raw_sql(f'CREATE VIEW "{name}" AS SELECT * FROM "{of}"').close()
    yield backend
    backend.disconnect()


def _fill(backend: Any, name: str, rows: pa.Table) -> None:
    schema = pa.schema([field.with_nullable(True) for field in rows.schema])
    backend.create_table(name, schema=ibis.Schema.from_pyarrow(schema))
    columns = ", ".join(f'"{column}"' for column in rows.column_names)
    places = ", ".join(["%s"] * rows.num_columns)
    with backend.con.cursor() as cursor:
        values = [tuple(row.values()) for row in rows.to_pylist()]
        cursor.executemany(f'INSERT INTO "{name}" ({columns}) VALUES ({places})', values)
    backend.con.commit()


@pytest.mark.parametrize(
    "by",
    [Group.ACCOUNT, Group.SIZE, Group.DAY, Group.NODE, Group.JOB],
)
def test_postgresql_gives_the_same_numbers(on_postgres, monkeypatch, tmp_path, by):
    span = range_of(asked(0, 24).since, asked(0, 24).until)
    for module in (question, waits, charts):
        monkeypatch.setattr(module, "MARKS", span)
    usage = DATASETS["usage"].schema
    flat = pa.schema([field for field in usage if field.name != "by_node"])
    tables = {
        name: named_table(schema_used("jobs") if of == "jobs" else flat, name)
        for name, of in {"jobs": "jobs", "usage": "usage", **VIEWS}.items()
    }
    monkeypatch.setattr(question, "named_tables", lambda has_edges: Tables(**tables, nodes=NODES))
    one = asks(by, has_edges=False)
    if "hours" not in on_postgres.list_tables():
        _fill(on_postgres, "hours", asks(Group.DAY)._hours())
    found = on_postgres.to_pyarrow(summing._sums(one, one.wanted().measures)).to_pylist()
    mine = sources_of(write(tmp_path, ATTEMPTS), history={"gpu_hour_rates": dict(one.rates)})
    monkeypatch.undo()
    total = report(STAFF, mine, asked(0, 24, by=by)).total
    for name in ("gpu_hours_allocated", "gpu_hours_used", "gpu_hours_idle", "cost"):
        known = [row[name] for row in found if row[name] is not None]
        assert sum(known) == pytest.approx(total.values[name]), name


def test_the_form_of_hours_is_the_one_that_the_reports_join() -> None:
    assert asks(Group.DAY)._hours().schema == HOURS_SCHEMA
    assert isinstance(asks(Group.DAY)._hours().column("hour")[0].as_py(), datetime)
