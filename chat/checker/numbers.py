"""Finds the numbers of an answer that are figures: with their possible values, their unit and their rounding. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chat.units import Kind, Unit, noun_after, unit_at

SMALLEST_COUNT = 11
_SPACES = "\u00a0\u202f\u2009\u2007"
_NUMBER = re.compile(
    rf"(?P<sign>[-\u2212–+](?=\d))?"
    rf"(?P<digits>(?<![A-Za-z0-9_])\d{{1,3}}(?:[,.'\u2019 {_SPACES}]\d{{3}})+(?:[.,]\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?|(?<![^\s(|~≈<>=:*])[.,]\d+)"
    rf"(?P<size>\s?(?:k|K|M|Mio\.?|million|millions|thousand|Tsd\.?)(?![A-Za-z/]))?"
)
_SIZES = {"k": 1e3, "thousand": 1e3, "tsd": 1e3, "m": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6}
_BETWEEN = re.compile(
    r"\s*(?:of|of the|of its|out of|out of the|/|–|-|to|and|or|vs\.?|versus|against|von|von den|bis|und|"
    r"de|sur|et|à|y|a|,)\s*",
    re.I,
)
_ADJECTIVES = re.compile(r"(?:[A-Za-zÀ-ÿ]+ ){1,2}(?=GPU|heures|horas|ore|jours|días)")
_JOINED = re.compile(r"\s*(?:and|und|et|y|,)?\s*", re.I)
_MONEY = re.compile(r"(?:€|\$|£|EUR|USD|CHF)\s?$")
_SIGNIFICANT = 3
_LONGEST = 30
_RUN_ON = re.compile(r"(?<![\w.,])\d+[dhm]$|(?<=[dh])\d{1,2}[hm]$")  # the beginning of 1h24m
_CUT = (1.0, 60.0)  # whole seconds and minutes may be cut, as the pages do it
_BEYOND, _NEAR = 0.1, 0.02
_HEDGES = tuple(
    (re.compile(rf"(?:{words})\s*[*`]*$", re.I), reach)
    for words, reach in (
        (r"(?<![a-z])(?:over|more than|above|mehr als|gut|über|plus de|más de|oltre)|超过", (0.0, _BEYOND)),
        (
            r"(?<![a-z])(?:under|almost|nearly|less than|below|knapp|fast|unter|presque|moins de|casi|quasi)|近",
            (0.1, 0.0),
        ),
        (
            r"[~≈]|(?<![a-z])(?:about|around|roughly|approximately|etwa|rund|circa|ca\.|environ|unos|circa)|约",
            (0.02, 0.02),
        ),
    )
)
_EXACT = 2e-6  # results have six significant digits


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a number: its value in the base unit, and half of what its last digit is worth."""

    value: float
    half: float

    def times(self, factor: float) -> Reading:
        return Reading(self.value * factor, self.half * factor)

    def loosely(self, below: float, above: float) -> Reading:
        """The same, reaching that share of the value further down and up; over 7 reaches to 8, too."""
        down, up = (self._reach(share) for share in (below, above))
        return Reading(self.value + (up - down) / 2, (up + down) / 2)

    def _reach(self, share: float) -> float:
        return max(self.half * (2 if share >= _BEYOND else 1), share * abs(self.value))

    def is_of(self, other: float) -> bool:
        """Whether `other`, rounded as this is written, is this."""
        return abs(other - self.value) <= self.half * (1 + 1e-9) + _EXACT * abs(other)


@dataclass(frozen=True, slots=True)
class Written:
    """A figure at [start, end) with its unit, None where it has none, and the ways in which it can be read."""

    start: int
    end: int
    unit: Unit | None
    readings: tuple[Reading, ...]


def figures_in(text: str, silent: Iterable[tuple[int, int]]) -> tuple[Written, ...]:
    """The figures of a text in order. `silent` spans hold names, dates and code: numbers there are none."""
    return tuple(figure for figure in numbers_in(text, silent) if not is_bare_and_small(figure))


def numbers_in(text: str, silent: Iterable[tuple[int, int]]) -> tuple[Written, ...]:
    """The figures, and small counts too."""
    spans = sorted(silent)
    found = [match for match in _NUMBER.finditer(text) if not _is_within(match, spans) and not _is_in_word(text, match)]
    return tuple(_joined(text, list(_with_units(text, found, _blanked(text, spans)))))


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text without what is silent: 37 in `gpu` counts no GPUs."""
    for start, end in spans:
        text = f"{text[:start]}{' ' * (min(end, len(text)) - start)}{text[end:]}"
    return text


def _is_within(match: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    return any(start < match.end() and match.start("digits") < end for start, end in spans)


def _is_in_word(text: str, match: re.Match[str]) -> bool:
    """gpu01, A100, fp16, 13b, 90th, v1.2: part of a word, not a figure."""
    start, end = match.start("digits"), match.end()
    before = text[start - 1] if start else " "
    if _RUN_ON.search(text[max(0, start - 8) : start]) and unit_at(text, end) is not None:
        return False
    if _is_latin(before) or before in "_#@" or (before in "-./:" and start > 1 and _is_word(text[start - 2])):
        return not _is_range(text, start)
    after = text[end : end + 1]
    return bool(_is_latin(after) or after == "_") and unit_at(text, end) is None


def _is_latin(character: str) -> bool:
    return character.isalpha() and character.lower() < "\u0250"


def _is_word(character: str) -> bool:
    return _is_latin(character) or character.isdigit() or character == "_"


def _is_range(text: str, start: int) -> bool:
    """20-30 %: the second number of a range stands behind a dash or slash that follows a figure."""
    return bool(re.search(r"(?<![\w.-])\d+(?:[.,]\d+)?[-–/]$", text[max(0, start - 24) : start]))


def _with_units(text: str, found: list[re.Match[str]], words: str) -> Iterator[Written]:
    following: Written | None = None
    made: list[Written] = []
    for match in reversed(found):
        unit, end = _unit(text, match, words)
        if unit is None and following is not None and _BETWEEN.fullmatch(text, match.end(), following.start):
            unit = following.unit
        following = Written(match.start("digits"), end, unit, tuple(_readings(match, unit)))
        made.append(following)
    yield from reversed(made)


def _unit(text: str, match: re.Match[str], words: str) -> tuple[Unit | None, int]:
    """The unit behind the number, in front of it for money, or the noun that it counts."""
    place = match.end()
    while place < len(text) and text[place] in f" -\u2010\u2011*{_SPACES}":
        place += 1
    written = unit_at(text, place) or _hours_behind_a_word(text, place)
    if written is not None:
        return written
    if _MONEY.search(text[max(0, match.start() - 8) : match.start()]):
        return Unit(Kind.MONEY), match.end()
    noun = noun_after(words, match.end())
    return (Unit(Kind.COUNT, noun=noun) if noun else None), match.end()


def _hours_behind_a_word(text: str, place: int) -> tuple[Unit, int] | None:
    """125.4 allocated GPU-hours."""
    words = _ADJECTIVES.match(text, place)
    found = None if words is None else unit_at(text, words.end())
    return found if found is not None and found[0].kind is Kind.GPU_HOURS else None


def _readings(match: re.Match[str], unit: Unit | None) -> Iterator[Reading]:
    size = (match["size"] or "").strip().rstrip(".").lower()
    factor = _SIZES.get(size, 1.0) * (1.0 if unit is None else unit.factor)
    sign = -1.0 if match["sign"] in ("-", "\u2212", "–") and _is_negative(match) else 1.0
    if len(match["digits"]) > _LONGEST:
        yield Reading(math.nan, 0.0)  # no number of any result
        return
    for whole, decimals in _parts(match["digits"]):
        number = float(f"{whole or '0'}.{decimals or '0'}")
        zeros = 0 if decimals else _free_zeros(whole)
        half = 0.5 * 10.0 ** (zeros - len(decimals)) * factor
        yield Reading(sign * number * factor, half).loosely(*_leeway(match))
        if unit is not None and unit.kind is Kind.SECONDS and unit.factor in _CUT and not decimals:
            yield Reading(sign * number * factor + half, half)


def _leeway(match: re.Match[str]) -> tuple[float, float]:
    """How far below and above its number a value may lie that is told as over, nearly or about it."""
    before = match.string[max(0, match.start() - 16) : match.start()]
    return next((reach for form, reach in _HEDGES if form.search(before)), (0.0, 0.0))


def _is_negative(match: re.Match[str]) -> bool:
    before = match.string[match.start() - 1 : match.start()]
    return not before or before.isspace() or before in "(:|≈~*"


def _parts(digits: str) -> Iterator[tuple[str, str]]:
    """Digits before and behind the decimal mark, in each way that the marks can be meant."""
    plain = re.sub(rf"['\u2019 {_SPACES}]", "", digits)
    marks = [character for character in plain if character in ",."]
    if not marks:
        yield plain, ""
        return
    head, _, tail = plain.rpartition(marks[-1])
    if len(marks) == 1 or marks[-1] != marks[-2]:
        yield re.sub(r"[.,]", "", head), tail
    if len(tail) == 3 and len(set(marks)) == 1 and head:
        yield re.sub(r"[.,]", "", plain), ""


def _free_zeros(whole: str) -> int:
    """Zeros at the end that may come from rounding: three digits are always meant."""
    zeros = len(whole) - len(whole.rstrip("0"))
    return max(0, min(zeros, len(whole.lstrip("0")) - _SIGNIFICANT))


def _joined(text: str, found: list[Written]) -> list[Written]:
    """1 h 30 min is one figure."""
    made: list[Written] = []
    for figure in found:
        last = made[-1] if made else None
        if last is not None and _continues(text, last, figure):
            value, half = last.readings[0].value + figure.readings[0].value, figure.readings[0].half
            rounded, cut = Reading(value, half), Reading(value + half, half)  # times are mostly cut
            made[-1] = Written(last.start, figure.end, figure.unit, (rounded, cut))
        else:
            made.append(figure)
    return made


def _continues(text: str, last: Written, figure: Written) -> bool:
    kinds = {None if one.unit is None else one.unit.kind for one in (last, figure)}
    if kinds != {Kind.SECONDS} or last.unit is None or figure.unit is None:
        return False
    return figure.unit.factor < last.unit.factor and _JOINED.fullmatch(text, last.end, figure.start) is not None


def is_bare_and_small(figure: Written) -> bool:
    """Counts up to 10, which are neither traced nor marked."""
    is_bare = figure.unit is None or figure.unit.kind is Kind.COUNT
    return (
        is_bare
        and bool(figure.readings)
        and all(
            abs(reading.value) < SMALLEST_COUNT and reading.value == int(reading.value) and reading.half == 0.5
            for reading in figure.readings
        )
    )
