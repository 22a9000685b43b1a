"""Whatever is asked, the API answers as its document says: schemathesis makes the questions, the same on every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.schemas import OpenApiSchema

from api.operations import OPERATIONS, Operation
from data.model import Role
from tests.api.conftest import BASE, STAFF, named, with_a_store

# The document cannot say which texts are times or ids, and which of two times comes first.
EXCLUDED = ("positive_data_acceptance",)
# Each form of such a question costs the engine a second to plan.
FEWER = {"reports/{group}": 2, "findings": 2}


def schema_of(server: Flask, headers: dict[str, str]) -> OpenApiSchema:
    def from_loopback(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        return server(environ | {"REMOTE_ADDR": "127.0.0.1"}, start)

    return schemathesis.openapi.from_wsgi(f"{BASE}openapi.json", from_loopback, headers=headers)


@pytest.fixture(scope="module")
def api_schema(people_server: Flask) -> OpenApiSchema:
    return schema_of(people_server, named(STAFF))


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("one", [one for one in OPERATIONS if one.changes], ids=lambda one: one.name)
def test_what_changes_something_answers_as_the_document_says(
    tmp_path: Path, one: Operation, mode: GenerationMode
) -> None:
    server, header = with_a_store(tmp_path, STAFF, Role.STAFF)
    excluded = [check for check in CHECKS.get_all() if check.__name__ in EXCLUDED]

    @settings(max_examples=8, derandomize=True, deadline=None, database=None, phases=[Phase.generate])
    @given(case=schema_of(server, header)[f"/{one.path}"][one.method].as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case) -> None:
        answer = case.call_and_validate(headers=header, excluded_checks=excluded)
        assert answer.status_code in (200, 400, 404) or mode is GenerationMode.NEGATIVE

    ask()


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("path", [one.path for one in OPERATIONS if not one.changes])
def test_every_question_has_an_answer_that_the_document_knows(
    api_schema: OpenApiSchema, path: str, mode: GenerationMode
) -> None:
    seen: set[int] = set()
    excluded = [check for check in CHECKS.get_all() if check.__name__ in EXCLUDED]

    @settings(
        max_examples=FEWER.get(path, 8),
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=api_schema[f"/{path}"]["GET"].as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case) -> None:
        seen.add(case.call_and_validate(headers=named(STAFF), excluded_checks=excluded).status_code)

    ask()
    if mode is GenerationMode.NEGATIVE:
        assert 400 in seen
    elif not path.endswith(("{name}", "{job_id}", "series")):
        assert 200 in seen
