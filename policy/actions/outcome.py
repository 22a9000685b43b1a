"""How an act can fail: it was surely not done, or it may have been."""

from __future__ import annotations


class Refused(Exception):
    """Surely not done; the words say why."""


class Unsettled(Exception):
    """It may have been done: the connection ended before the answer came. Whoever acts finds out, or does it again in
    a way that does no harm twice."""
