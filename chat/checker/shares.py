"""The share that a stated figure is of a field beside its own, or such a field of it: 1,378 wasted GPU-hours, 17.5 % of
the measured hours. Only of the same row, or of the total over the rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product

from chat.checker.facts import Fact
from chat.checker.matching import Said
from chat.checker.numbers import Written
from chat.checker.words import measures_of_text
from chat.model import Figure
from chat.units import Kind, Unit, noun_of

_OF = re.compile(r"(?<![A-Za-z])(?:of|from|vo[nm]|der|des?|du|aus|sur|del?|di|su)(?![A-Za-z])|占|の|中", re.I)
_STATED = re.compile(
    r"[^\d.;:|]{0,20}(?<![A-Za-z])(?:of|vo[nm]|der|des?|sur|del?|su)\s[^\d.;:|]{0,12}(?<![A-Za-z])\d", re.I
)
_BESIDE = re.compile(r"\d[^\d.;:|()]{0,24}\($|\|\s*[*_]*\d[^|]*\|\s*[*_]*$")  # 4 jobs (5.2 %), or in the next cell
_PER = re.compile(r"[*_]*\s?(?:[a-z]+\s)?(?:per|je|pro|par|por|/)\s?(?P<noun>[^\W\d_]+)", re.I)
_WHOLES = frozenset({"allocated", "coverage"})


def share_of_field(
    text: str, figure: Written, stated: Sequence[Figure], facts: Sequence[Fact], said: Said
) -> Figure | None:
    """The figure, traced to the field that it is a share of or that is this share of a stated one; None for neither."""
    begin = text.rfind("\n", 0, figure.start) + 1
    is_of = _OF.search(_around(text, figure)) or _BESIDE.search(text, begin, figure.start)
    is_share = figure.unit is not None and figure.unit.kind is Kind.RATIO and is_of
    if not is_share or _STATED.match(text, figure.end):
        return None
    spoken = measures_of_text(text[figure.end : figure.end + 40]) or said.measures
    for one in stated:
        for part, whole, other in _pairs(one, facts, spoken, said):
            ratio = part / whole
            if any(abs(reading.value - ratio) <= reading.half + 1e-9 for reading in figure.readings):
                return Figure(figure.start, figure.end, other.call_id, other.path)
    return None


def _around(text: str, figure: Written) -> str:
    return text[max(0, figure.start - 8) : figure.start] + " " + text[figure.end : figure.end + 24]


def _pairs(
    one: Figure, facts: Sequence[Fact], spoken: frozenset[str], said: Said
) -> Iterator[tuple[float, float, Fact]]:
    """Part, whole, and which of them is not stated."""
    owns = [fact for fact in facts if (fact.call_id, fact.path) == (one.call_id, one.path)][:1]
    if not owns or owns[0].unit is None or owns[0].unit.kind is Kind.RATIO:
        return
    alike = [fact for fact in facts if fact.call_id == owns[0].call_id and fact.unit == owns[0].unit]
    same = [fact for fact in alike if fact.value == owns[0].value and fact.own == owns[0].own]
    for own, other in product(same, alike):
        if 0 < own.value <= other.value and (_is_whole_of(own, other) or _is_spoken(own, other, spoken & _WHOLES)):
            yield own.value, other.value, other
        elif 0 < other.value < own.value and _is_named(other, own, spoken, said):
            yield other.value, own.value, other


def _is_spoken(own: Fact, other: Fact, spoken: frozenset[str]) -> bool:
    return _holder(own) == _holder(other) and bool(other.measures & spoken)


def _is_whole_of(part: Fact, whole: Fact) -> bool:
    """The total over its rows, the total beside it, or a count in what holds it."""
    if _is_total_of(part, whole) or (_holder(part) == _holder(whole) and whole.path.endswith("total")):
        return True
    is_above = _holder(part).startswith(_holder(whole)) and _holder(part) != _holder(whole)
    return is_above and "rows[" not in _holder(part)[len(_holder(whole)) :] and whole.unit is not None


def _holder(fact: Fact) -> str:
    return fact.path.rpartition(".")[0]


def _is_total_of(row: Fact, total: Fact) -> bool:
    is_row = "rows[" in row.path and "rows[" not in total.path
    return is_row and row.path.rpartition(".")[2] == total.path.rpartition(".")[2]


def _is_named(part: Fact, whole: Fact, spoken: frozenset[str], said: Said) -> bool:
    """Whether the sentence names the part: by its measure, or by the row's own name."""
    if _is_total_of(part, whole):
        return part.own is not None and part.own[1] in said.names.get(part.own[0], ())
    return _holder(part) == _holder(whole) and bool(part.measures & spoken)


def mean_of_field(text: str, figure: Written, stated: Sequence[Figure], facts: Sequence[Fact]) -> Figure | None:
    """384 cores, 12 per GPU: the figure, traced to what it is a part of, shared out over a count of the same thing."""
    found = _PER.match(text, figure.end)
    noun = "" if found is None else noun_of(found["noun"])
    if not noun or not stated:
        return None
    wholes = [fact for fact in facts if (fact.call_id, fact.path) == (stated[-1].call_id, stated[-1].path)][:1]
    counts = [fact for fact in facts if fact.unit == Unit(Kind.COUNT, noun=noun) and fact.value > 0]
    for own, other in product(wholes, counts):
        if other.own == own.own and any(reading.is_of(own.value / other.value) for reading in figure.readings):
            return Figure(figure.start, figure.end, own.call_id, own.path)
    return None
