"""`fullwarp check` on screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from data.check import Check, Verdict
from terminal.tables import line

SIGNS = {
    Verdict.OK: ("ok", "green"),
    Verdict.NOTE: ("note", "cyan"),
    Verdict.PROBLEM: ("problem", "bold red"),
    Verdict.UNKNOWN: ("unknown", "yellow"),
}


def check_lines(checks: Iterable[Check]) -> Iterator[RenderableType]:
    """One line per check, the lines that mend it under it."""
    for check in checks:
        word, style = SIGNS[check.verdict]
        yield line((f"{word:<8}", style), (f"{check.subject}: ", "bold"), check.text)
        for text in check.fix:
            yield Padding(line(text), (0, 0, 0, 10), expand=False)


def closing_line(problems: int) -> Text:
    """The last line: what the exit code says."""
    if problems:
        return Text(f"\n{problems} problem{'' if problems == 1 else 's'} found.", style="bold red")
    return Text("\nNo problem found.", style="green")
