"""Figures that a sentence derives from others that it states: the share that one is of another, their difference, how
many times it is the other, and a count whose parts stand behind it. The others must be traced themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from chat.checker.numbers import Written
from chat.checker.reading import Reading
from chat.model import Figure
from chat.units import Kind

_OF = re.compile(
    r"[^\d.;:|(]{0,40}?(?<![A-Za-z])(?:of|out of|from|von|der|aus|sur|de|di|su|/)(?![A-Za-z])[^\d.;:|]{0,24}|\s*/\s*",
    re.I,
)
# Of the 314 GPUs 63 are idle: the whole stands in front.
_FROM = re.compile(
    r"(?<![A-Za-z])(?:of|out of|from|von|sur|de|di|su)\s[^\d.;]{0,12}\d[\d.,]*[^.;]*$|中|のうち|里", re.I
)
_TIMES = re.compile(r"[*_]*\s?(?:times|mal|fois|veces|volte|vezes|x|×|倍)(?![A-Za-z])", re.I)
_DIFFERS = re.compile(
    r"differ\w*|more|less|fewer|apart|higher|lower|better|worse|ahead|lead|behind|points?|gap|(?<![\d.,])\+|"
    r"unterschied|auseinander|mehr|weniger|höher|niedriger|besser|schlechter|[a-z]{0,20}punkte?n?|"
    r"différence|écart|de (?:plus|moins)|diferencia|más|menos|puntos|差|高|低",
    re.I,
)

_BEHIND = re.compile(r"[^\d.;:|()]{0,60}(?:\(|:\s)")  # a count's parts follow

Numbers = Sequence[tuple[Written, Figure]]
Pair = tuple[tuple[Written, Figure], tuple[Written, Figure]]


def derived(text: str, place: int, numbers: Numbers, earlier: Numbers = ()) -> Figure:
    """The figure of `numbers` at this place of them, traced to the field of the first of two that it derives from.
    A difference may be one of the two `earlier` ones of its kind, of the sentences before."""
    figure, as_is = numbers[place]
    for first, second in (*_pairs(text, place, numbers), *_of_earlier(text, place, numbers, earlier)):
        if _is_share(figure, first[0], second[0]):
            return Figure(figure.start, figure.end, first[1].call_id, first[1].path)
    if _DIFFERS.search(text, max(0, numbers[0][0].start - 80), figure.end + 40):
        for first, second in (*_couples(place, numbers), *_last_two(figure, earlier)):
            if _is_difference(figure, first[0], second[0]):
                return Figure(figure.start, figure.end, first[1].call_id, first[1].path)
    for first, second in (*_neighbors(numbers), *_last_two(None, earlier)):
        if _TIMES.match(text, figure.end) and _is_quotient(figure, first[0], second[0]):
            return Figure(figure.start, figure.end, first[1].call_id, first[1].path)
    parts = _parts(text, place, numbers)
    if len(parts) > 1 and _is_total(figure, [part for part, _ in parts]):
        return Figure(figure.start, figure.end, parts[0][1].call_id, parts[0][1].path)
    return as_is


def _parts(text: str, place: int, numbers: Numbers) -> Numbers:
    """16 GPUs (8 drained, 8 down), or 16: 8 drained and 8 down: the counts behind it; none unless all are traced."""
    mark = _BEHIND.match(text, numbers[place][0].end)
    if mark is None:
        return ()
    end = text.find(")", mark.end()) if mark[0].endswith("(") else numbers[-1][0].end
    behind = [one for one in numbers[place + 1 :] if mark.end() <= one[0].start < end]
    return behind if all(figure.is_traced for _, figure in behind) else ()


def _is_total(figure: Written, parts: Sequence[Written]) -> bool:
    counts = [one.readings[0].value for one in parts if _kind(one) is Kind.COUNT]
    return _kind(figure) is Kind.COUNT and len(counts) == len(parts) and figure.readings[0].value == sum(counts)


def _pairs(text: str, place: int, numbers: Numbers) -> Iterator[Pair]:
    """37.5 % (3 of 8), 3 of 8 (37.5 %), and 3, which is 37.5 % of the 8: part and whole beside a share or around it."""
    first = max(0, place - 2)
    around = [*numbers[max(0, place - 1) : place], *numbers[place + 1 : place + 2]]
    for pair in (around, numbers[first:place], numbers[place + 1 : place + 3]):
        if len(pair) == 2 and all(figure.is_traced for _, figure in pair):
            begin = numbers[place][0].end if pair is around else pair[0][0].end
            if _OF.fullmatch(text, begin, pair[1][0].start):
                yield pair[0], pair[1]
            elif _FROM.search(text, max(0, pair[0][0].start - 16), pair[1][0].start):
                yield pair[1], pair[0]


def _of_earlier(text: str, place: int, numbers: Numbers, earlier: Numbers) -> Iterator[Pair]:
    """16 are out. These are 4.3 % of all 368: the part stands before."""
    behind = numbers[place + 1 : place + 2]
    if behind and behind[0][1].is_traced and _OF.fullmatch(text, numbers[place][0].end, behind[0][0].start):
        yield from ((one, behind[0]) for one in earlier[-3:] if one[1].is_traced and _are_alike(one[0], behind[0][0]))


def _couples(place: int, numbers: Numbers) -> Iterator[Pair]:
    """The two numbers before a difference, the two behind it, or the two around it."""
    units = [one.unit.kind for one, _ in numbers[: place + 1][::-1] if one.unit is not None]
    kind = units[0] if units else Kind.COUNT
    same = [one for one in numbers if (_kind(one[0]) is kind or one[0].unit is None) and one[1].is_traced]
    before = [one for one in same if one[0].start < numbers[place][0].start]
    behind = [one for one in same if one[0].start > numbers[place][0].start]
    for side in (before[-2:], behind[:2], [*before[-1:], *behind[:1]]):
        if len(side) == 2:
            yield side[0], side[1]


def _last_two(figure: Written | None, earlier: Numbers) -> Iterator[Pair]:
    same = [one for one in earlier if one[1].is_traced and (figure is None or one[0].unit in (None, figure.unit))][-2:]
    if len(same) == 2 and (figure is None or _kind(figure) is not Kind.COUNT):
        yield same[0], same[1]


def _is_share(figure: Written, part: Written, whole: Written) -> bool:
    if _kind(figure) is not Kind.RATIO or not _are_alike(part, whole) or _kind(part) is Kind.RATIO:
        return False
    loose = 0.0 if {_kind(part), _kind(whole)} == {Kind.COUNT} else _rounded(part) + _rounded(whole)
    ratios = [a.value / b.value for a, b in product(part.readings, whole.readings) if 0 < a.value <= b.value]
    return any(
        abs(reading.value - ratio) <= reading.half + loose * ratio for reading in figure.readings for ratio in ratios
    )


def _is_difference(figure: Written, first: Written, second: Written) -> bool:
    is_exact = {_kind(figure), _kind(first), _kind(second)} == {Kind.COUNT}
    return any(
        abs(abs(reading.value) - abs(a.value - b.value)) <= reading.half * 1.001 + (0.0 if is_exact else _loose(a, b))
        for reading in figure.readings
        for a, b in product(first.readings, second.readings)
    )


def _neighbors(numbers: Numbers) -> Iterator[Pair]:
    """Figures of one kind that follow each other."""
    for first, second in pairwise(one for one in numbers if one[1].is_traced):
        if _kind(first[0]) is _kind(second[0]):
            yield first, second


def _is_quotient(figure: Written, first: Written, second: Written) -> bool:
    """14 times as long."""
    loose = _rounded(first) + _rounded(second)
    ratios = [
        max(a.value / b.value, b.value / a.value)
        for a, b in product(first.readings, second.readings)
        if a.value * b.value > 0
    ]
    return any(
        abs(reading.value - ratio) <= reading.half + loose * ratio for reading in figure.readings for ratio in ratios
    )


def _loose(a: Reading, b: Reading) -> float:
    """What rounding may have done to a difference; nothing where that would leave nothing of it."""
    loose = a.half + b.half
    return loose if loose < abs(a.value - b.value) / 4 else 0.0


def _are_alike(part: Written, whole: Written) -> bool:
    """Whether both are of one kind; a number without a unit may be of the other's."""
    return part.unit is None or whole.unit is None or _kind(part) is _kind(whole)


def _rounded(figure: Written) -> float:
    """The largest share of its value that rounding may have taken or given."""
    return min((one.half / abs(one.value) for one in figure.readings if one.value), default=0.0)


def _kind(figure: Written) -> Kind:
    return Kind.COUNT if figure.unit is None else figure.unit.kind
