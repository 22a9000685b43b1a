"""The schemas of parameters and answers, made of the types themselves by pydantic, with the unit of every number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from api.failures import Failure
from api.operations import OPERATIONS, Operation
from api.units import ENDLESS, UNLIMITED, unit_of

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{model}"


class _Written(GenerateJsonSchema):
    """As answers are written: every field is there, with or without a default."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Schemas:
    """`components` by name; `answers` and `parameters` by operation (and parameter), which point into them."""

    components: Mapping[str, Schema]
    answers: Mapping[str, Schema]
    parameters: Mapping[tuple[str, str], Schema]
    failure: Schema


def make_schemas() -> Schemas:
    """All of them at once, so that two types of one name keep two names. KeyError for a number without a unit."""
    inputs: list[tuple[Any, Any, TypeAdapter[Any]]] = [("failure", "serialization", TypeAdapter(Failure))]
    for one in OPERATIONS:
        inputs.append((one.name, "serialization", TypeAdapter(one.answer)))
        inputs += [((one.name, name), "serialization", adapter) for name, adapter in _parameters(one)]
    found, rest = TypeAdapter.json_schemas(inputs, ref_template=REFERENCE, schema_generator=_Written)
    made = {key: schema for (key, _), schema in found.items()}
    components = {name: _with_units(name, schema) for name, schema in rest["$defs"].items()}
    return Schemas(
        components,
        {one.name: made[one.name] for one in OPERATIONS},
        {key: schema for key, schema in made.items() if isinstance(key, tuple)},
        made["failure"],
    )


def _parameters(one: Operation) -> Iterator[tuple[str, TypeAdapter[Any]]]:
    for name, field in one.parameters.model_fields.items():
        yield name, TypeAdapter(_as_type(field))


def _as_type(field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _with_units(owner: str, schema: Schema) -> Schema:
    """The schema with `x-unit` beside every number, and with the word for what has no end."""
    for name, field in schema.get("properties", {}).items():
        if holds_number(field):
            field["x-unit"] = unit_of(owner.rpartition("__")[2], name)
        if (owner, name) in ENDLESS:
            field["anyOf"].insert(1, {"const": UNLIMITED, "type": "string"})
    return schema


def holds_number(schema: Schema) -> bool:
    """Whether a value of this schema is a number, or a list or table of numbers."""
    if schema.get("type") in ("number", "integer"):
        return True
    inner = [*schema.get("anyOf", ()), *schema.get("prefixItems", ())]
    inner += [part for key in ("items", "additionalProperties") if isinstance(part := schema.get(key), dict)]
    return any(holds_number(part) for part in inner)
