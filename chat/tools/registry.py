"""A tool is one typed function: its name, docstring and signature are its name, description and JSON schema."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from chat.model import Asker
from chat.tools.answer import Answer
from data.errors import BadRequest

Run = Callable[..., Answer]


@dataclass(frozen=True, slots=True)
class Tool:
    """`schema` is strict: no further arguments, all of them required, null where one need not be given."""

    name: str
    description: str
    schema: Mapping[str, Any]
    arguments: type[BaseModel]
    function: Run

    def run(self, asker: Asker, given: Mapping[str, Any]) -> Answer:
        """Answer. Raises BadRequest for arguments that do not fit, and what the queries raise."""
        return self.function(asker, **self.checked(given))

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them: null and absent are its defaults."""
        said = {name: value for name, value in given.items() if value is not None}
        try:
            made = self.arguments.model_validate(said)
        except ValidationError as err:
            raise BadRequest(f"{self.name}: {_wrong(err)}", hint=self._usage()) from err
        return {name: getattr(made, name) for name in type(made).model_fields}

    def _usage(self) -> str:
        return f"Its arguments: {', '.join(self.schema['properties']) or 'none'}."


def make_tool(function: Run) -> Tool:
    """The tool that a function is. Its first parameter is the asker; each other one has `Annotated` with a Field."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    made = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    description = inspect.cleandoc(function.__doc__ or "").replace("\n", " ")
    return Tool(function.__name__, description, _schema(made.model_fields, made.model_json_schema()), made, function)


# What a strict schema may hold; the rest (defaults, lengths, titles) is held by the check and said in words.
_KEPT = ("type", "enum", "items", "description")


def _schema(fields: Mapping[str, FieldInfo], whole: Mapping[str, Any]) -> dict[str, Any]:
    kinds = whole.get("$defs", {})
    properties = {name: _property(one, kinds) for name, one in whole["properties"].items()}
    for name, field in fields.items():
        if not field.is_required():
            properties[name] = _or_null(properties[name], field.default)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _property(one: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in one:
        one = {**kinds[one["$ref"].rpartition("/")[2]], **one, "description": one.get("description", "")}
    if "anyOf" in one:  # a kind or null: null is put in for every argument that need not be given
        one = {**next(kind for kind in one["anyOf"] if kind.get("type") != "null"), **one}
    if "const" in one:
        one = {**one, "enum": [one["const"]]}
    made = {key: one[key] for key in _KEPT if key in one}
    if "items" in made:
        made["items"] = _property(made["items"], kinds)
    return made


def _or_null(one: dict[str, Any], default: object) -> dict[str, Any]:
    """The same, or null for the default, which the description says."""
    made = {**one, "type": [one["type"], "null"]}
    if default not in (None, "", False, 0) and "ull = " not in one["description"]:
        made["description"] = f"{one['description']} Null = {'yes' if default is True else default}."
    if "enum" in one:
        made["enum"] = [*one["enum"], None]
    return made


def _wrong(err: ValidationError) -> str:
    return "; ".join(_sentence(one) for one in err.errors(include_url=False)[:3])


def _sentence(one: Any) -> str:
    where = ".".join(str(part) for part in one["loc"])
    said = re.sub(r"\s+", " ", repr(one["input"]))[:80]
    if one["type"] == "extra_forbidden":
        return f"there is no argument {where[:60]}"
    if one["type"] == "missing":
        return f"{where} is needed"
    return f"{where} = {said}: {one['msg'][:1].lower()}{one['msg'][1:]}"


def openai_form(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools as chat completions want them."""
    return [
        {
            "type": "function",
            "function": {
                "name": one.name,
                "description": one.description,
                "parameters": dict(one.schema),
                "strict": True,
            },
        }
        for one in tools
    ]
