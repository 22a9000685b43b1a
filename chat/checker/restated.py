"""A number of the question that an answer takes up as a bound: more than your 400, not within 30 minutes. Pure.

It claims what the results must bear out: a value of what the sentence speaks of lies on that side of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from chat.checker.facts import Fact
from chat.checker.matching import Said, is_said_of, is_same_kind
from chat.checker.numbers import Written
from chat.checker.words import measures_for, measures_of_text
from chat.units import Kind

_ABOVE = re.compile(
    r"(?<![a-zà-ÿ])(?:more than|over|above|at least|longer than|exceed\w*|beyond|mehr als|über|mindestens|länger als|"
    r"plus de|au moins|au-dessus de|más de|al menos|por encima de|più di|almeno)(?![a-zà-ÿ])|超过|至少|[>≥]",
    re.I,
)
_BELOW = re.compile(
    r"(?<![a-zà-ÿ])(?:less than|under|below|within|at most|up to|fewer than|shorter than|weniger als|unter|höchstens|"
    r"innerhalb|moins de|au plus|en dessous de|sous|menos de|como máximo|por debajo de|meno di|entro)(?![a-zà-ÿ])|"
    r"不到|少于|低于|[<≤]",
    re.I,
)
_IS = r"[*_]*\s+(?:is|are|was|were|would be|ist|sind|wäre\w*|est|sont|es|son|è)\s+(?:[a-zà-ÿ]+\s+)?"
_IS_MORE = re.compile(rf"{_IS}(?:longer|more|higher|larger|above|länger|mehr|höher|über|plus|más|superior|più)\b", re.I)
_IS_LESS = re.compile(
    rf"{_IS}(?:shorter|less|lower|fewer|below|within|kürzer|weniger|unter|moins|menos|inferior|meno)\b", re.I
)
_NOT = re.compile(
    r"(?<![a-zà-ÿ])(?:not?|none|nothing|nobody|never|neither|hardly|kein\w*|nicht\w*|niemand|ne|pas|aucune?|rien|"
    r"ningun\w*|ningún|nada|nadie|non|nessun\w*)(?![a-zà-ÿ])|n't(?![a-z])|没有|不是|ない",
    re.I,
)
_YOURS = re.compile(
    r"(?<![a-zà-ÿ])(?:your|you (?:asked|wanted|named)|deine?n?|ihre?n?|votre|vos|tu|su)\s+[*`~]*$", re.I
)
_NEAR = 28  # characters in front of a number, in which its bound stands


def is_restated(
    text: str, begin: int, figure: Written, asked: Sequence[Written], facts: Sequence[Fact], said: Said, question: str
) -> bool:
    """Whether a figure, in a clause that begins there, is a number of the question as a bound that holds."""
    if not any(_is_same(figure, one) for one in asked):
        return False
    near = text[max(begin, figure.start - _NEAR) : figure.start]
    is_denied = _NOT.search(text, begin, figure.end + _NEAR) is not None
    sides = [side for form, side in ((_ABOVE, 1.0), (_BELOW, -1.0)) if form.search(near)]
    sides += [-side for form, side in ((_IS_MORE, 1.0), (_IS_LESS, -1.0)) if form.match(text, figure.end)]
    is_yours = _YOURS.search(near) is not None
    if not sides and (is_yours or not is_denied):
        return is_yours
    own = _asked_of(said, figure, question)
    values = [fact.value for fact in facts if _is_of(figure, fact, own)]
    wanted = [-side for side in sides] if is_denied else sides
    pairs = product(values, figure.readings, wanted or (1.0, -1.0))
    return any(side * (value - reading.value) >= -reading.half for value, reading, side in pairs)


def _is_same(figure: Written, asked: Written) -> bool:
    kinds = {one.unit.kind for one in (figure, asked) if one.unit is not None and one.unit.kind is not Kind.COUNT}
    if len(kinds) > 1:
        return False
    pairs = product(figure.readings, asked.readings)
    return any(abs(one.value - other.value) < 0.999 * (one.half + other.half) for one, other in pairs)


def _asked_of(said: Said, figure: Written, question: str) -> Said:
    """Where the clause names no measure, it is of the question's, and a share is a utilization."""
    kind = Kind.COUNT if figure.unit is None else figure.unit.kind
    if measures_for(kind, said.measures):
        return said
    asked = measures_for(kind, measures_of_text(question))
    return replace(said, measures=asked or frozenset({"utilization"} if kind is Kind.RATIO else ()))


def _is_of(figure: Written, fact: Fact, said: Said) -> bool:
    """What is said of nobody by name is of anybody; a bound is of nothing but the measure that is named."""
    kind = Kind.COUNT if figure.unit is None else figure.unit.kind
    spoken = measures_for(kind, said.measures)
    is_meant = not spoken or (bool(fact.measures) and fact.measures <= spoken and "_gap" not in fact.path)
    is_bare = figure.unit is None and fact.unit is not None and fact.unit.kind is Kind.GPU_HOURS
    is_kind = is_meant and (is_bare or any(is_same_kind(figure, fact, unit) for unit in said.units))
    is_anybody = not said.names and not said.carried
    return is_kind and is_said_of(replace(fact, own=None) if is_anybody else fact, said, is_anybody)
