"""The one form of every error, and which status it has. Causes in a source are told to staff alone."""

from __future__ import annotations

from dataclasses import dataclass

from data.errors import BadRequest, CannotKnow, FullwarpError, NotFound, SourceError, SourceTimeout
from data.model import Viewer
from data.telling import told


@dataclass(frozen=True, slots=True)
class Problem:
    """`code` is for programs, `message` says what is wrong, `hint` what to do next (may be empty)."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Failure:
    error: Problem


STATUSES: tuple[tuple[type[FullwarpError], int], ...] = (
    (BadRequest, 400),
    (NotFound, 404),
    (CannotKnow, 404),
    (SourceTimeout, 504),
    (SourceError, 503),
)


def failure(code: str, message: str, hint: str = "") -> Failure:
    return Failure(Problem(code, message, hint))


def status_of(err: FullwarpError) -> int:
    return next((status for kind, status in STATUSES if isinstance(err, kind)), 500)


def failure_of(err: FullwarpError, viewer: Viewer) -> Failure:
    """What the viewer may know of an error; see `data.telling`."""
    return failure(err.code, *told(err, viewer))
