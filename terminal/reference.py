"""The pages and the example that are made from the tables in the code, so that they cannot go stale."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from data.metrics.registry import METRICS
from data.settings_file import model_within, setting_fields

LOOKUP = """Settings come from the first of these files that exists, and only from that one:

1. the file given with `--config`
2. the file named by `FULLWARP_CONFIG`
3. `fullwarp.toml` in the current folder
4. `/etc/fullwarp/fullwarp.toml`

An environment variable (`FULLWARP_SECTION__FIELD`) wins over the file, the file over the default. A list in a variable
is separated by commas or written as JSON; a table is JSON. An unknown name or a wrong value stops the start with exit
code 2. With `identity.kind = "unix"` and without root rights, only a file that root owns (3 or 4) counts, and neither
`--config` nor variables do. `fullwarp check --init` writes the example file.
"""


def write_reference(folder: Path) -> None:
    """Write settings.md, metrics.md, findings.md, history.md, reports.md and tools.md into `folder`."""
    from terminal.findings_reference import findings_page
    from terminal.history_reference import history_page
    from terminal.report_reference import reports_page
    from terminal.tools_reference import tools_page

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")
    (folder / "metrics.md").write_text(metrics_page(), encoding="utf-8")
    (folder / "findings.md").write_text(findings_page(), encoding="utf-8")
    (folder / "history.md").write_text(history_page(), encoding="utf-8")
    (folder / "reports.md").write_text(reports_page(), encoding="utf-8")
    (folder / "tools.md").write_text(tools_page(), encoding="utf-8")


def settings_page() -> str:
    """docs/reference/settings.md: every field with its form, default, variable and help."""
    parts = ["# Settings\n\n", LOOKUP]
    for section, rows in _sections():
        parts.append(f"\n## {section or 'Top level'}\n\n| field | form | default | meaning |\n|---|---|---|---|\n")
        parts.extend(_settings_row(name, field) for name, field in rows)
        parts.append(f"\nVariables: `{_variable(section, 'FIELD')}`, for example `{_variable(section, rows[0][0])}`.\n")
        parts.extend(_tables_within(section, rows))
    return "".join(parts)


def _tables_within(section: str, rows: Sequence[tuple[str, FieldInfo]]) -> Iterator[str]:
    """The fields of tables that a section holds by name or as a list."""
    for name, field in rows:
        inner = model_within(field.annotation)
        if inner is not None:
            title = f"{section}.{name}.NAME" if get_origin(field.annotation) is dict else f"{section}.{name}"
            fields = list(inner.model_fields.items())
            yield f"\n### {title}\n\n{inner.__doc__}\n\n| field | form | default | meaning |\n|---|---|---|---|\n"
            yield from (_settings_row(inner_name, inner_field) for inner_name, inner_field in fields)
            yield from _tables_within(title, fields)


def _settings_row(name: str, field: FieldInfo) -> str:
    cells = (f"`{name}`", form_of(field), f"`{toml_value(field)}`", field.description or "")
    return "| " + " | ".join(_cell(text) for text in cells) + " |\n"


def metrics_page() -> str:
    """docs/reference/metrics.md: every metric with its name on screen, its unit and its meaning."""
    lines = [
        "# Metrics\n",
        "Ratios are 0..1 inside, in files and in JSON, and percent on screen. Not measured is absent, never 0.\n",
        "| name | on screen | unit inside | of | meaning |\n|---|---|---|---|---|",
    ]
    for row in METRICS.values():
        owner = "job and node" if row.is_host else "card" if row.is_whole_card else "device"
        lines.append(f"| `{row.name}` | {row.label} | {row.unit} | {owner} | {row.help} |")
    return "\n".join(lines) + "\n"


def example_file() -> str:
    """A fullwarp.toml with every field commented out at its default, with its help above it."""
    lines = ["# Settings of Fullwarp. Take away the # of a line to change it; the values below are the defaults.\n"]
    for section, rows in _sections():
        lines.append(f"\n[{section}]\n" if section else "\n")
        for name, field in rows:
            default = toml_value(field)
            lines.append(f"# {field.description}\n#{name} = {default}\n")
    return "".join(lines)


def toml_value(field: FieldInfo) -> str:
    """The default as TOML; an empty text where the field has none."""
    value: Any = None if field.is_required() else field.get_default(call_default_factory=True)
    if isinstance(value, SecretStr) or value is None:
        return '""'
    return json.dumps(str(value) if isinstance(value, StrEnum | Path) else value)


def form_of(field: FieldInfo) -> str:
    """The wanted form in words: number > 0, text, one of ..."""
    limits = [text for item in field.metadata if (text := _limit(item))]
    return " ".join([_type_words(field.annotation), *limits])


def _type_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(item) for item in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return "one of " + ", ".join(kind)
    if get_origin(kind) in {list, dict}:
        values = "texts" if model_within(kind) is None else "tables"
        return f"list of {values}" if get_origin(kind) is list else f"table of {values}"
    plain = next((item for item in get_args(kind) if item is not NoneType), None)
    if plain is not None:
        return f"{_type_words(get_args(plain)[0] if get_args(plain) else plain)} or empty"
    words = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return words.get(kind, "secret text" if kind is SecretStr else "file or folder")


def _limit(item: object) -> str:
    signs = {Gt: ("gt", ">"), Ge: ("ge", ">="), Lt: ("lt", "<"), Le: ("le", "<=")}
    name, sign = signs.get(type(item), ("", ""))
    return f"{sign} {getattr(item, name):g}" if name else ""


def _sections() -> Iterator[tuple[str, list[tuple[str, FieldInfo]]]]:
    rows = [(*name.rpartition(".")[::2], field) for name, field in setting_fields()]
    for section in dict.fromkeys(section for section, _, _ in rows):
        yield section, [(name, field) for owner, name, field in rows if owner == section]


def _variable(section: str, field: str) -> str:
    return "__".join(["FULLWARP_" + section.upper(), field.upper()] if section else ["FULLWARP_" + field.upper()])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
