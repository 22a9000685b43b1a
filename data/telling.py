"""What may be told of an error: addresses and causes in sources and settings are for staff alone."""

from __future__ import annotations

from data.errors import BadRequest, CannotKnow, FullwarpError, NotFound
from data.model import Viewer

_OF_THE_QUESTION = (BadRequest, NotFound, CannotKnow)


def told(err: FullwarpError, viewer: Viewer) -> tuple[str, str]:
    """The message and the hint that the viewer may read."""
    if viewer.is_staff or isinstance(err, _OF_THE_QUESTION):
        return str(err), err.hint
    return "A source that this needs does not answer.", "Try again later, or ask the cluster staff."
