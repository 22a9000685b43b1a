"""What every command gets: the options before its name, and the screen that it answers on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TextIO

import typer

from data.errors import BadRequest

if TYPE_CHECKING:
    from rich.console import RenderableType

    from terminal.session import View

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: ratios 0..1, seconds, bytes; null = not known.")]
At = Annotated[str, typer.Option("--at", help="A past moment: 2026-03-01T14:00, a date, -2h, yesterday 09:00.")]
UserOption = Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user's (may be repeated).")]
PartitionOption = Annotated[list[str] | None, typer.Option("--partition", "-p", help="Only this partition's.")]
StateOption = Annotated[list[str] | None, typer.Option("--state", "-t", help="Only in this state.")]


class Screen(Protocol):
    """Where answers go. Only `cli` has a real one."""

    @property
    def out(self) -> TextIO: ...

    def show(self, answer: Any, lines: Callable[[Any, int], Iterable[RenderableType]], as_json: bool) -> None:
        """Print the answer as JSON, or as the lines made from (answer, width)."""

    def write(self, content: bytes) -> None:
        """Print bytes as they are."""

    def tell(self, text: str) -> None:
        """Print a message that is not the answer."""

    def progress(self, title: str) -> AbstractContextManager[Callable[[int, int, str], None]]:
        """A bar for long work, told (done, of, what); nothing where nobody watches."""


def require_one_form(as_json: bool, as_csv: bool) -> None:
    """Raise BadRequest for an answer that is wanted in two forms at once."""
    if as_json and as_csv:
        raise BadRequest("--json and --csv are two forms of one answer", hint="Give one of them.")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options before the command."""

    is_demo: bool
    config: Path | None
    screen: Screen

    def view(self, at: str = "") -> View:
        from terminal.session import open_view

        view = open_view(self.config, at, is_demo=self.is_demo)
        if view.sources.demo_history is not None:
            view.sources.demo_history.bar = self.screen.progress
        for ignored in view.ignored:
            self.screen.tell(f"ignored: {ignored}")
        return view
