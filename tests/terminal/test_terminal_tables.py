"""Lines and tables that fit, say what is absent, and cannot drive the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from data.words import clean
from terminal.tables import Column, bar, cell, line, table


def shown(item: RenderableType, width: int = 80, *, color: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=color, no_color=not color, highlight=False, emoji=False
    )
    console.print(item)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


@pytest.mark.parametrize(
    "evil", ["\x1b[2J", "\x1b]0;title\x07", "a\rb", "a\nb", "\u202etxt", "\x9b31m", "\ud800", "\x00"]
)
def test_names_cannot_drive_the_terminal(evil: str) -> None:
    for out in (clean(evil), shown(line(evil)), shown(table([Column("NAME")], [[evil]], 80))):
        assert not set(out.strip()) & set("\x1b\x07\r\u202e\x9b\ud800\x00")
        assert "\n" not in out.strip().replace("NAME", "").strip()


def test_names_that_look_like_markup_are_shown_as_they_are() -> None:
    assert "[red]x[/red] :smile:" in shown(table([Column("NAME")], [["[red]x[/red] :smile:"]], 80))


def test_thin_spaces_of_numbers_become_plain_ones() -> None:
    assert clean("1\u2009264\xa0h") == "1 264 h"


@pytest.mark.parametrize(("text", "wanted"), [(None, "–"), ("", "–"), ("not measured", "–"), ("0 %", "0 %")])
def test_absent_is_a_dash_and_zero_is_zero(text: str | None, wanted: str) -> None:
    assert cell(text) == wanted


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    columns = [Column("NAME"), Column("GPUS", True), Column("REASON", is_wide=True)]
    out = shown(table(columns, [["n" * 300, "8", "r" * 300]], width), width)
    assert max(len(row) for row in out.splitlines()) <= width


def test_wide_columns_wait_for_a_wide_terminal() -> None:
    columns = [Column("NAME"), Column("REASON", is_wide=True)]
    assert "REASON" not in shown(table(columns, [["a", "b"]], 80))
    assert "REASON" in shown(table(columns, [["a", "b"]], 120), 120)


@pytest.mark.parametrize(
    ("ratio", "cells"), [(None, 0), (0.0, 0), (0.001, 1), (0.5, 8), (1.0, 16), (1.7, 16), (-1.0, 0)]
)
def test_a_meter_is_as_full_as_its_ratio(ratio: float | None, cells: int) -> None:
    meter = bar(ratio).plain
    assert (meter.count("|"), len(meter)) == (cells, 18)


def test_color_is_never_the_only_sign() -> None:
    assert "\x1b[" in shown(Text("x", style="red"), color=True)
    assert "\x1b[" not in shown(Text("x", style="red"))
