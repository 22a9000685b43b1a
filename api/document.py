"""The OpenAPI 3.1 document, put together by apispec from the operations and their schemas."""

from __future__ import annotations

from typing import Any

from apispec import APISpec

from api.operations import OPERATIONS, Operation
from api.schemas import REFERENCE, Schemas, make_schemas

FORM = "application/json"
PROBLEMS = {
    "400": "A parameter is wrong.",
    "401": "Nobody is named.",
    "403": "It takes a token of cluster staff.",
    "404": "There is none, it may not be seen, or it cannot be known.",
    "429": "Too many requests.",
    "503": "A source does not answer.",
    "504": "A source did not answer in time.",
}
ABOUT = (
    "The answers of Fullwarp's pages and commands as JSON. Ratios are 0..1, times are UTC; every number has its unit "
    "in its name or in x-unit. null is not known or not measured, never 0. Who asks sees what they may see."
)


def make_document(server: str, version: str, schemas: Schemas | None = None) -> dict[str, Any]:
    """The document of the API that lives below `server`, such as /fullwarp/api/v1."""
    made = schemas or make_schemas()
    spec = APISpec(
        title="Fullwarp",
        version=version,
        openapi_version="3.1.0",
        info={"description": ABOUT},
        servers=[{"url": server}],
        security=[{"token": []}, {}],
    )
    spec.components.security_scheme(
        "token", {"type": "http", "scheme": "bearer", "description": "From `fullwarp token create`."}
    )
    for name, schema in made.components.items():
        spec.components.schema(name, schema)
    for one in OPERATIONS:
        spec.path(f"/{one.path}", operations={one.method.lower(): _operation(one, made)})
    document: dict[str, Any] = spec.to_dict()
    return document


def _operation(one: Operation, made: Schemas) -> dict[str, Any]:
    names = one.in_path if one.changes else one.parameters.model_fields
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [_parameter(one, name, made) for name in names],
        "responses": {"200": _good(one, made)},
    }
    if one.changes:
        found["security"] = [{"token": []}]
    else:
        found["responses"]["304"] = {"description": "As it was: If-None-Match has the mark of the answer."}
    problems = {code: words for code, words in PROBLEMS.items() if one.changes or code != "403"}
    found["responses"] |= {code: _problem(words, made) for code, words in problems.items()}
    if one.has_body:
        found["requestBody"] = {"required": True, "content": {FORM: {"schema": _body(one, made)}}}
    return found


def _good(one: Operation, made: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {"description": "The answer.", "content": {FORM: {"schema": made.answers[one.name]}}}
    if not one.changes:
        found["headers"] = {"ETag": {"schema": {"type": "string"}, "description": "For If-None-Match."}}
    return found


def _body(one: Operation, made: Schemas) -> dict[str, Any]:
    fields = {name: field for name, field in one.parameters.model_fields.items() if name not in one.in_path}
    return {
        "type": "object",
        "properties": {
            name: _schema(one, name, made) | {"description": field.description or ""} for name, field in fields.items()
        },
        "required": [name for name, field in fields.items() if field.is_required()],
        "additionalProperties": False,
    }


def _parameter(one: Operation, name: str, made: Schemas) -> dict[str, Any]:
    field = one.parameters.model_fields[name]
    is_in_path = name in one.in_path
    schema, place = _schema(one, name, made), "path" if is_in_path else "query"
    found = {"name": name, "in": place, "required": is_in_path, "schema": schema}
    return found | ({"description": field.description} if field.description else {})


def _schema(one: Operation, name: str, made: Schemas) -> dict[str, Any]:
    """The form of a parameter, with its default."""
    field, schema = one.parameters.model_fields[name], dict(made.parameters[(one.name, name)])
    return schema if field.is_required() or "$ref" in schema else schema | {"default": field.default}


def _problem(words: str, made: Schemas) -> dict[str, Any]:
    return {"description": words, "content": {FORM: {"schema": made.failure}}}


def name_of(reference: str) -> str:
    """The component that a reference points to."""
    return reference.removeprefix(REFERENCE.format(model=""))
