"""docs/reference/api.md, made from the operations and their schemas."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api.document import make_document, name_of
from api.paging import MOST_ROWS

HEAD = f"""# HTTP API

JSON below `/api/v1/` (behind `serve.url_prefix`), GET where no other method is named. `openapi.json` there
is the same as OpenAPI 3.1. How to get a token: [how-to](../how-to/api.md).

Answers are those of `fullwarp COMMAND --json`. Ratios are 0..1, times are UTC; every number has its unit in its name or
beside it here. `null` is not known or not measured, never 0; `"unlimited"` is a limit without end.

- **Lists** are `{{"answer": ..., "page": {{"limit", "offset", "total", "next"}}}}`; `next` is the address of the next
  page, `null` on the last. At most {MOST_ROWS:,} rows a page.
- **ETag**: send it back as `If-None-Match`; 304 without a body says that nothing has changed.
- **Errors** are `{{"error": {{"code", "message", "hint"}}}}`.

| status | code | |
|---|---|---|
| 400 | `bad_request` | a parameter is wrong, unknown or given twice |
| 401 | `unauthorized` | nobody is named, or the token is not valid |
| 403 | `forbidden` | it changes something, and takes a token of cluster staff |
| 404 | `not_found` | there is no such thing, or you may not see it: one answer for both |
| 404 | `cannot_know` | nobody can know it: no history is kept, or a past moment that was not recorded |
| 405 | `method_not_allowed` | the address does not know the method |
| 429 | `too_many_requests` | `Retry-After` says how many seconds to wait (`api.requests_per_minute`) |
| 503, 504 | `source_...` | a source does not answer; its cause is told to staff only |
"""


def api_page() -> str:
    """The page: routes with their parameters, then every type with its fields."""
    document = make_document("/api/v1", "")
    parts = [HEAD, "\n## Routes\n"]
    parts += [
        _route(path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    parts.append("\n## Types\n")
    components = document["components"]["schemas"]
    parts += [_type(name, schema) for name, schema in sorted(components.items()) if "properties" in schema]
    parts.append("\n## Words\n\n| type | one of |\n|---|---|\n")
    for name, schema in sorted(components.items()):
        if "enum" in schema:
            parts.append(f"| {_short(name)} | {', '.join(f'`{word}`' for word in schema['enum'])} |\n")
    return "".join(parts)


def _route(path: str, method: str, operation: dict[str, Any]) -> str:
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    title = path if method == "get" else f"{method.upper()} {path}"
    lines = [f"\n### {title}\n\n{operation['summary']} Answer: {_form(answer)}.\n"]
    rows = [*_in_address(operation), *_in_body(operation)]
    if rows:
        lines.append("\n| parameter | form | default | |\n|---|---|---|---|\n")
    lines += [f"| `{name}` | {form} | {default} | {about} |\n" for name, form, default, about in rows]
    return "".join(lines)


def _in_address(operation: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for one in operation["parameters"]:
        default = "" if one["in"] == "path" else f"`{_default(one['schema'].get('default'))}`"
        name = f"{{{one['name']}}}" if one["in"] == "path" else one["name"]
        yield name, _form(one["schema"]), default, one.get("description", "")


def _in_body(operation: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Fields of the JSON object that is sent."""
    body = operation.get("requestBody", {"content": {}})["content"].get("application/json", {}).get("schema", {})
    for name, schema in body.get("properties", {}).items():
        default = "" if name in body["required"] else f"`{_default(schema.get('default'))}`"
        yield name, _form(schema), default, f"In the body. {schema['description']}"


def _default(value: object) -> str:
    return {"": "empty", "[]": "none", "None": "none"}.get(str(value), str(value))


def _type(name: str, schema: dict[str, Any]) -> str:
    about = " ".join(schema.get("description", "").split())
    rows = "".join(
        f"| `{field}` | {_form(form)} | {form.get('x-unit', '')} |\n" for field, form in schema["properties"].items()
    )
    return f"\n### {_short(name)}\n\n{about}\n\n| field | form | unit |\n|---|---|---|\n{rows}"


def _form(schema: dict[str, Any]) -> str:
    """A schema in words."""
    if "$ref" in schema:
        return _short(name_of(schema["$ref"]))
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_form(one) for one in schema["anyOf"]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_items(schema)}"
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        return f"table of {_form(inner)}" if isinstance(inner, dict) else "table"
    return _plain(schema) + "".join(_limits(schema))


def _items(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return "(" + ", ".join(_form(one) for one in schema["prefixItems"]) + ")"
    return _form(schema["items"]) if schema.get("items") else "values"


def _plain(schema: dict[str, Any]) -> str:
    words = {"integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
    formats = {"date-time": "time", "date": "date"}
    return formats.get(schema.get("format", "")) or words.get(schema.get("type", ""), "text")


def _limits(schema: dict[str, Any]) -> Iterator[str]:
    for name, sign in (("minimum", ">="), ("maximum", "<=")):
        if name in schema:
            yield f" {sign} {schema[name]}"


def _short(name: str) -> str:
    """The name of a component; of types of one name, with the subject that each is of."""
    parts = name.strip("_").replace("Paged_", "Paged ").split("__")
    return parts[0] if len(parts) == 1 else f"{parts[-1]} ({' '.join(parts[1:-1])})"


def write_reference(folder: Path) -> None:
    """Write api.md into `folder`."""
    (folder / "api.md").write_text(api_page(), encoding="utf-8")


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
