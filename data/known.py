"""Whether what a question names can be there at all: an empty list would read as an answer."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from data.errors import BadRequest, SourceUnreachable
from data.model import SourceCondition, SourceState


def require_slurm(sources: Iterable[SourceState], *, is_empty: bool) -> None:
    """Raise SourceUnreachable where nothing at all is known of the cluster: an empty answer would read as zeros."""
    for source in sources:
        if is_empty and source.name == "slurm" and source.condition is SourceCondition.DOWN:
            raise SourceUnreachable(
                f"Slurm does not answer, so nothing is known of the cluster: {source.error or 'no answer'}",
                hint=source.hint or "See `fullwarp check`.",
            )


def require_known(kind: str, asked: Iterable[str], known: Iterable[str]) -> None:
    """Raise BadRequest for a filter's word that nothing can have: an empty list would read as an answer.

    With nothing known (the source does not answer) every word passes.
    """
    names = sorted(known)
    for word in asked:
        if names and word not in names:
            near = get_close_matches(word, names, 3) or names[:12]
            raise BadRequest(f"there is no {kind} {word}", hint=f"Such as {', '.join(near)}.")
