"""docs/reference/tools.md, made from the registry of tools and the table of commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chat.command_table import COMMANDS
from chat.tools import TOOLS, Tool

_HEAD = """# Tools and commands of the assistant

What the assistant can look up: the same for the model, for other agents over MCP, and for commands without a model.
Each tool runs as the one who asks and sees no more than they may. No tool changes anything.

The unit of a number in a result is the end of its key: `_ratio` (0..1), `_seconds`, `_bytes`, `_bytes_per_second`,
`_gpu_hours`, `_watts`, `_celsius`, `_hertz`, `_kwh`, `_amount` (of money). A number without such an end is a count.
`null` is not measured or not known, never 0. Keys that end in `_at` are times in UTC. A list is an object of `rows`,
`rows_total` and `rows_left_out`.
"""


def tools_page() -> str:
    """Every tool with its arguments, then every command."""
    parts = [_HEAD, *(_tool(tool) for tool in TOOLS.values()), *_commands()]
    return "\n".join(parts)


def _tool(tool: Tool) -> str:
    lines = [f"## {tool.name}\n", f"{tool.description}\n"]
    rows = tool.schema["properties"]
    if rows:
        needed = {name for name, field in tool.arguments.model_fields.items() if field.is_required()}
        lines.append("| argument | form | needed | meaning |\n|---|---|---|---|")
        lines += [_argument(name, one, is_needed=name in needed) for name, one in rows.items()]
        lines.append("")
    return "\n".join(lines)


def _argument(name: str, one: Mapping[str, Any], *, is_needed: bool) -> str:
    meaning = str(one["description"]).replace("|", "\\|")
    return f"| `{name}` | {_form(one)} | {'yes' if is_needed else 'no'} | {meaning} |"


def _form(one: Mapping[str, Any]) -> str:
    words = [f"`{word}`" for word in one.get("enum", ()) if word is not None]
    if words:
        return "one of " + ", ".join(words)
    kind = one["type"] if isinstance(one["type"], str) else one["type"][0]
    return {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}[kind]


def _commands() -> Iterator[str]:
    yield (
        "## Commands\n\nThey need no model. `name=value` gives any other argument of the tool; a period is `day`, "
        "`week`, `month`, `quarter`, `year` or a length such as `14d`. What is not said is what the page shows.\n"
    )
    yield "| command | shows | tool | also |\n|---|---|---|---|"
    for one in COMMANDS:
        also = ", ".join(f"`/{name}`" for name in one.aliases)
        usage = one.usage.replace("|", "\\|")
        yield f"| `{usage}` | {one.shows} | {f'`{one.tool}`' if one.tool else ''} | {also} |"
    yield ""
