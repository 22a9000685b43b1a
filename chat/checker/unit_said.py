"""The units that a number without one may have: those of the words and figures around it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.checker.context import Part
from chat.checker.numbers import Written
from chat.units import Unit, unit_at


def units_said(figure: Written, part: Part, before: str, head: str, carried: Sequence[Unit]) -> Sequence[Unit | None]:
    """The figure's own unit, else the one in front of it, else none or one of the sentence so far, or GPU-hours where
    it speaks of them, or the sentence before did; in a row of a table, one of its heads."""
    own = figure.unit or _unit_before(before, head)
    if own is not None:
        return (own,)
    before_it = [one.unit for one in part.figures if one.end <= figure.start] + list(carried)
    others = [_unit_before("", name) for _, _, name in part.sentence.heads] if head else before_it
    return (None, *dict.fromkeys(unit for unit in others if unit is not None))


def _unit_before(words: str, head: str) -> Unit | None:
    """The unit that stands in the head of the column, or before the colon in front of the number."""
    before = head or (words.rstrip(" *`").removesuffix(":") if words.rstrip(" *`").endswith((":", "=")) else "")
    places = (match.start() for match in re.finditer(r"(?<![A-Za-z])[A-Za-z%€$°]", before))
    found = [unit for place in places if (unit := unit_at(before, place)) is not None]
    return max(found, key=lambda one: one[1])[0] if found else None
