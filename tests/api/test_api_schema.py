"""The document says all that the answers say: every field of every dataclass, and the unit of every number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest
from flask.testing import FlaskClient
from jsonschema_rs import validator_for

from api.operations import OPERATIONS
from api.schemas import Schemas, holds_number, make_schemas
from api.units import unit_of
from tests.api.conftest import BASE, RANGE, STAFF, named
from tests.api.test_api_routes import QUERIES


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    return make_schemas()


def dataclasses_of(kind: Any, found: set[type]) -> set[type]:
    """Every dataclass that an answer can hold."""
    if isinstance(kind, type) and is_dataclass(kind) and kind not in found:
        found.add(kind)
        for inner in get_type_hints(kind).values():
            dataclasses_of(inner, found)
    for inner in get_args(kind):
        dataclasses_of(inner, found)
    return found


def test_every_field_of_every_public_dataclass_is_in_the_schema(schemas: Schemas) -> None:
    kinds = set().union(*(dataclasses_of(one.answer, set()) for one in OPERATIONS))
    assert len(kinds) > 40
    for kind in kinds:
        names = {field.name for field in fields(kind)}
        named_so = [one for name, one in schemas.components.items() if name.rpartition("__")[2] == kind.__name__]
        wanted = [one for one in named_so if set(one.get("properties", ())) == names]
        assert wanted, f"{kind.__qualname__} is not in the schema with the fields {sorted(names)}"
        assert set(wanted[0]["required"]) == names


def test_every_number_has_a_unit(schemas: Schemas) -> None:
    without = [
        f"{owner}.{name}"
        for owner, schema in schemas.components.items()
        for name, field in schema.get("properties", {}).items()
        if holds_number(field) and not field.get("x-unit")
    ]
    assert without == []


@pytest.mark.parametrize("name", ["size", "speed", "length", "amount"])
def test_a_number_that_says_no_unit_is_refused(name: str) -> None:
    with pytest.raises(KeyError, match=f"Job.{name} has no unit"):
        unit_of("Job", name)


@pytest.mark.parametrize(
    ("field", "unit"),
    [
        ("wait_seconds", "seconds"),
        ("gpu_memory_used_bytes", "bytes"),
        ("wasted_gpu_hours_window", "GPU-hours"),
        ("power_watts", "watts"),
        ("idle_coverage", "ratio"),
        ("job_ids", "id"),
    ],
)
def test_the_name_of_a_field_says_its_unit(field: str, unit: str) -> None:
    assert unit_of("Anything", field) == unit


def test_types_of_one_name_keep_two_names(schemas: Schemas) -> None:
    assert len([name for name in schemas.components if name.endswith("__Group")]) == 3


@dataclass(frozen=True)
class Sample:
    operation: str
    path: str


def samples(client: FlaskClient) -> Iterator[Sample]:
    """Real ids of the simulated cluster: jobs of every state, nodes of every kind."""
    jobs = client.get(f"{BASE}jobs?limit=1000", headers=named(STAFF)).json["answer"]["rows"]
    by_state = {row["job"]["state"]: row["job"]["display_id"] for row in jobs if "[" not in row["job"]["display_id"]}
    for job_id in by_state.values():
        yield Sample("job", f"jobs/{job_id}")
        yield Sample("job_series", f"jobs/{job_id}/series")
    nodes = client.get(f"{BASE}nodes?limit=1000", headers=named(STAFF)).json["answer"]["rows"]
    by_kind = {tuple(row["models"]): row["node"]["name"] for row in nodes}
    yield from (Sample("node", f"nodes/{name}") for name in by_kind.values())
    verdicts = client.get(f"{BASE}gpu-efficiency?limit=1000", headers=named(STAFF)).json["answer"]["verdicts"]
    by_status = {one["verdict"]["status"]: one["job"]["display_id"] for one in verdicts}
    yield from (Sample("verdict", f"gpu-efficiency/{name}") for name in by_status.values())
    for name in ("status", "nodes", "jobs", "findings", "metrics"):
        yield Sample(name, f"{name}?{QUERIES.get(name, '')}")
    yield Sample("metrics", "metrics?since=1h&group=user")
    yield Sample("verdicts", "gpu-efficiency")
    for group in ("user", "job"):
        yield Sample("report", f"reports/{group}?{RANGE}{'&compare=true' if group == 'user' else ''}")


def test_answers_are_as_the_document_says(demo: FlaskClient, schemas: Schemas) -> None:
    found = list(samples(demo))
    assert len(found) > 20
    for one in found:
        answer = demo.get(BASE + one.path, headers=named(STAFF))
        assert answer.status_code == 200, (one, answer.text[:300])
        schema = {**schemas.answers[one.operation], "components": {"schemas": schemas.components}}
        checker = validator_for(schema)
        assert not checker.is_valid({**answer.json, next(iter(answer.json)): 7.5})
        errors = [
            f"{list(error.instance_path)}: {error.message}" for error in validator_for(schema).iter_errors(answer.json)
        ]
        assert errors[:3] == [], one
