"""The page of every command's options, made from the commands themselves."""

from __future__ import annotations

import re
from pathlib import Path

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

# The list at the head of a group repeats each command's first words, cut off; the sections have them whole.
_LISTS = re.compile(r"\*\*Commands\*\*:\n\n(\* .*\n)+\n?")
_LEAD = "# Options of every command\n\nWhat each command is for: [commands](commands.md).\n"


def options_page(program: typer.Typer) -> str:
    """docs/reference/options.md: usage, arguments and options of each command with their help."""
    command = get_command(program)
    context = typer.Context(command, info_name="fullwarp")
    with context:
        told = get_docs_for_click(obj=command, ctx=context, name="fullwarp")
    body = _LISTS.sub("", told).replace("# `fullwarp`\n", _LEAD, 1)
    return body.strip() + "\n"


def write_options(program: typer.Typer, folder: Path) -> None:
    (folder / "options.md").write_text(options_page(program), encoding="utf-8")
