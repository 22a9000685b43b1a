"""The units that a number without one may have: those of the words and figures around it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.checker.context import Part
from chat.checker.numbers import Written
from chat.units import Kind, Unit, unit_at

_COUNTED = (Kind.COUNT, Kind.GPU_HOURS, Kind.SECONDS)
_REACH = 40  # characters in front of a number, in which another with a colon behind it stands
_OWN_NUMBER = re.compile(r"\d[\d.,]*\s?\S{1,12}[*_`]*[:=][\s*`]*$")


def units_said(
    figure: Written, part: Part, before: str, head: str, carried: Sequence[Unit], *, is_of_them: bool = False
) -> Sequence[Unit | None]:
    """The figure's own unit, else the one in front of it, else none or one of the sentence so far, or GPU-hours where
    it speaks of them, or the sentence before did; in a row of a table, one of its heads. 47 of
    them is no share."""
    own = figure.unit or _unit_before(before, head)
    if own is not None:
        return (own,)
    before_it = [one.unit for one in part.figures if one.end <= figure.start] + list(carried)
    if is_of_them:
        before_it = [unit for unit in before_it if unit is not None and unit.kind in _COUNTED]
    others = [_unit_before("", name) for _, _, name in part.sentence.heads] if head else before_it
    return (None, *dict.fromkeys(unit for unit in others if unit is not None))


def _unit_before(words: str, head: str) -> Unit | None:
    """The unit that stands in the head of the column, or before the colon in front of the number."""
    if not head and _OWN_NUMBER.search(words[-_REACH:]):  # about 13 %: 49 of 368
        return None
    before = head or (words.rstrip(" *`").removesuffix(":") if words.rstrip(" *`").endswith((":", "=")) else "")
    places = (match.start() for match in re.finditer(r"(?<![A-Za-z'\u2019])[A-Za-z%€$°]", before))
    found = [unit for place in places if (unit := unit_at(before, place)) is not None]
    return max(found, key=lambda one: one[1])[0] if found else None
