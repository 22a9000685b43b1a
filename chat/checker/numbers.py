"""Finds the numbers of an answer that are figures: with their possible values, their unit and their rounding. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from chat.checker.reading import SPACES, Reading, readings
from chat.units import Kind, Unit, noun_after, noun_of, unit_at

SMALLEST_COUNT = 11
_NUMBER = re.compile(
    rf"(?P<sign>[-\u2212–+](?=\d))?"
    rf"(?P<digits>(?<![A-Za-z0-9_])\d{{1,3}}(?:[,.'\u2019 {SPACES}]\d{{3}})+(?:[.,]\d+)?(?!\d)"
    r"|\d+(?:[.,]\d+)?|(?<![^\s(|~≈<>=:*])[.,]\d+)"
    r"(?P<fraction>\s?[¼½¾])?"
    rf"(?P<size>\s?(?:k|K|M|Mio\.?|million|millions|thousand|Tsd\.?)(?![A-Za-z/]))?"
)
_BETWEEN = re.compile(
    r"[^\S\n]*(?:of|of the|of its|out of|out of the|/|–|-|to|and|or|vs\.?|versus|against|von|von den|der|aus|bis|und|"
    r"de|de las|de los|sur|sur les|su|et|à|y|a|,)[^\S\n]*"
    r"(?:(?:about|roughly|around|some|etwa|rund|environ|unos)\s+)?[~≈]?",
    re.I,
)
_ADJECTIVES = re.compile(r"(?:[A-Za-zÀ-ÿ]+ ){1,2}(?=GPU|heures|horas|ore|jours|días)")
_HYPHENED = re.compile(r"[-\u2010\u2011]([A-Za-z]+)")
_JOINED = re.compile(r"\s*(?:and|und|et|y|,)?\s*", re.I)
_MONEY = re.compile(r"(?:€|\$|£|EUR|USD|CHF)\s?$")
_RUN_ON = re.compile(r"(?<![\w.,])\d+[dhm]$|(?<=[dh])\d{1,2}[hm]$")  # the beginning of 1h24m


@dataclass(frozen=True, slots=True)
class Written:
    """A figure at [start, end) with its unit, None where it has none, and the ways in which it can be read."""

    start: int
    end: int
    unit: Unit | None
    readings: tuple[Reading, ...]


def figures_in(text: str, silent: Iterable[tuple[int, int]], *, is_exact: bool = False) -> tuple[Written, ...]:
    """The figures of a text in order. `silent` spans hold names, dates and code: numbers there are none. `is_exact`:
    below 5 is 5, not nearly that."""
    found = numbers_in(text, silent, is_exact=is_exact)
    return tuple(figure for figure in found if not is_bare_and_small(figure))


def numbers_in(text: str, silent: Iterable[tuple[int, int]], *, is_exact: bool = False) -> tuple[Written, ...]:
    """The figures, and small counts too."""
    spans = sorted(silent)
    found = [match for match in _NUMBER.finditer(text) if not _is_within(match, spans) and not _is_in_word(text, match)]
    return tuple(_joined(text, list(_with_units(text, found, _blanked(text, spans), is_exact))))


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


def _with_units(text: str, found: list[re.Match[str]], words: str, is_exact: bool) -> Iterator[Written]:
    following: Written | None = None
    made: list[Written] = []
    for match in reversed(found):
        unit, end = _unit(text, match, words)
        if unit is None and following is not None and _BETWEEN.fullmatch(text, match.end(), following.start):
            unit = following.unit
        following = Written(match.start("digits"), end, unit, tuple(readings(match, unit, is_exact=is_exact)))
        made.append(following)
    yield from reversed(made)


def _unit(text: str, match: re.Match[str], words: str) -> tuple[Unit | None, int]:
    """The unit behind the number, in front of it for money, or the noun that it counts."""
    place = match.end()
    while place < len(text) and text[place] in f" -\u2010\u2011*{SPACES}":
        place += 1
    written = unit_at(text, place) or _hours_behind_a_word(text, place)
    if written is not None:
        return written
    if _MONEY.search(text[max(0, match.start() - 8) : match.start()]):
        return Unit(Kind.MONEY), match.end()
    noun = _noun_of_size(text, match.end()) or noun_after(words, match.end())
    return (Unit(Kind.COUNT, noun=noun) if noun else None), match.end()


def _noun_of_size(text: str, end: int) -> str:
    """A 16-GPU job has 16 GPUs."""
    word = _HYPHENED.match(text, end)
    return noun_of(word[1]) if word is not None else ""


def _hours_behind_a_word(text: str, place: int) -> tuple[Unit, int] | None:
    """125.4 allocated GPU-hours."""
    words = _ADJECTIVES.match(text, place)
    found = None if words is None else unit_at(text, words.end())
    return found if found is not None and found[0].kind is Kind.GPU_HOURS else None


def _joined(text: str, found: list[Written]) -> list[Written]:
    """1 h 30 min is one figure, and so is 1 h 30."""
    made: list[Written] = []
    for figure in found:
        last = made[-1] if made else None
        more = None if last is None else _minutes(text, last, figure) or _continued(text, last, figure)
        if last is not None and more is not None:
            value, half = last.readings[0].value + more.value, more.half
            rounded, cut = Reading(value, half), Reading(value + half, half)  # times are mostly cut
            made[-1] = Written(last.start, figure.end, last.unit, (rounded, cut))
        else:
            made.append(figure)
    return made


def _continued(text: str, last: Written, figure: Written) -> Reading | None:
    kinds = {None if one.unit is None else one.unit.kind for one in (last, figure)}
    if kinds != {Kind.SECONDS} or last.unit is None or figure.unit is None:
        return None
    is_behind = figure.unit.factor < last.unit.factor and _JOINED.fullmatch(text, last.end, figure.start) is not None
    return figure.readings[0] if is_behind else None


def _minutes(text: str, last: Written, figure: Written) -> Reading | None:
    """The 47 of 1 h 47."""
    is_bare = figure.unit is None or figure.unit.kind is Kind.COUNT
    is_behind = text[last.end - 1 : figure.start] in ("h ", f"h{SPACES[0]}", f"h{SPACES[1]}")
    is_time = last.unit is not None and last.unit.kind is Kind.SECONDS and text[figure.start : figure.end].isdigit()
    if not (is_bare and is_behind and is_time) or figure.end - figure.start != 2:
        return None
    return Reading(int(text[figure.start : figure.end]) * 60.0, 30.0)


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
