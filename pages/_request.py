"""What a request stands on: the settings, the sources and who asks. Kept on the Flask app, never in a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flask import Flask, current_app, g

from data.errors import FullwarpError, SourceUnreachable
from data.model import Association, Viewer
from data.queries.day import DayKeeper
from pages._answers import Answers
from policy.keeping import VerdictKeeper

if TYPE_CHECKING:
    from data.sources import Sources
    from settings import Settings

KEY = "FULLWARP"


@dataclass(slots=True)
class Backing:
    """Settings and sources of one app. Sources are closed before a fork and opened after it."""

    settings: Settings
    opened: Sources | None = None
    answers: Answers | None = None
    day: DayKeeper = field(default_factory=DayKeeper)
    verdicts: VerdictKeeper = field(default_factory=VerdictKeeper)

    @property
    def sources(self) -> Sources:
        """The opened sources. Raises SourceUnreachable while they are closed."""
        if self.opened is None:
            raise SourceUnreachable("The sources are not open yet.", hint="The server is starting; try again.")
        return self.opened

    def finished(self, parts: tuple[str, ...], make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
        """The finished answer of this name, made once (see `Answers`)."""
        return make() if self.answers is None else self.answers.get(parts, make)

    def associations(self) -> Iterable[Association]:
        """Slurm's account tree; empty while it cannot be had, which makes nobody staff."""
        try:
            return self.sources.associations()
        except FullwarpError:
            return ()


def backing(server: Flask | None = None) -> Backing:
    """The backing of this request's app (or of `server`)."""
    kept = (server or current_app).config[KEY]
    if not isinstance(kept, Backing):
        raise TypeError(f"{KEY} of the server is not a Backing")
    return kept


def viewer() -> Viewer:
    """Who asks; the gate has put it there."""
    asked_by = g.fullwarp_viewer
    if not isinstance(asked_by, Viewer):
        raise TypeError("the gate left no Viewer")
    return asked_by


def now() -> datetime:
    """The one place where a page looks at the clock."""
    return datetime.now(UTC)
