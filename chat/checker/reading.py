"""Reads the digits of a number: its possible values, and how far it may have been rounded. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from chat.units import Kind, Unit

SPACES = "\u00a0\u202f\u2009\u2007"
_SIZES = {"k": 1e3, "thousand": 1e3, "tsd": 1e3, "m": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6}
_FRACTIONS = {"¼": 0.25, "½": 0.5, "¾": 0.75}
_SIGNIFICANT = 3
_LONGEST = 30
_CUT = (1.0, 60.0)  # whole seconds and minutes may be cut, as the pages do it
_BEYOND, _NEAR = 0.1, 0.02
_HEDGES = tuple(
    (re.compile(rf"(?:{words})\s*[*`]*$", re.I), reach)
    for words, reach in (
        (
            r"(?<![a-z])(?:over|a good|more than|above|mehr als|gut|über|plus de|más de|oltre|"
            r"exceed\w*|übersteig\w*)|超过",
            (0.0, _BEYOND),
        ),
        (
            r"(?<![a-z])(?:under|almost|nearly|less than|below|knapp|fast|unter|presque|moins de|casi|quasi)|近",
            (0.1, 0.0),
        ),
        (
            r"[~≈]|(?<![a-z])(?:about|around|roughly|approximately|close to|etwa|rund|ungefähr|circa|ca\.|environ|"
            r"unos|alrededor de)|[约約]",
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


def readings(match: re.Match[str], unit: Unit | None, *, is_exact: bool = False) -> Iterator[Reading]:
    """The ways to read a number that was found with the groups sign, digits, fraction and size, in the base unit."""
    size = (match["size"] or "").strip().rstrip(".").lower()
    factor = _SIZES.get(size, 1.0) * (1.0 if unit is None else unit.factor)
    sign = -1.0 if match["sign"] in ("-", "\u2212", "–") and _is_negative(match) else 1.0
    part = _FRACTIONS.get((match["fraction"] or "").strip(), 0.0)
    if len(match["digits"]) > _LONGEST:
        yield Reading(math.nan, 0.0)  # no number of any result
        return
    for whole, decimals in _parts(match["digits"]):
        number = float(f"{whole or '0'}.{decimals or '0'}") + part
        zeros = 0 if decimals else _free_zeros(whole)
        half = (0.125 if part else 0.5 * 10.0 ** (zeros - len(decimals))) * factor
        yield Reading(sign * number * factor, half).loosely(*((0.0, 0.0) if is_exact else _leeway(match)))
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
    plain = re.sub(rf"['\u2019 {SPACES}]", "", digits)
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
