"""The lengths of time that a text names as what its figures are of: the last 7 days, last week. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from chat.units import Kind, Unit, unit_at

_LAST = (
    r"last|past|previous|preceding|within(?: the last)?|in the last|over the last|letzten?|vergangenen?|derni[eè]re?s?|"
    r"últim[oa]s?|ultim[eio]|过去|最近|過去|直近|последни\w*"
)
_LENGTH = re.compile(rf"(?<![A-Za-z])(?:{_LAST})\s*[*_]*(?P<number>\d+(?:[.,]\d+)?)\s*[-\u2010\u2011]?\s*", re.I)
_NAMED = (
    (r"(?:last|past|previous) day|letzten Tag|dernier jour|último día", 86400.0),
    (
        r"(?:last|past|previous) week|(?:letzten?|vergangenen?) woche|semaine dernière|dernière semaine|"
        r"(?:la )?última semana|semana pasada|上周|过去一周",
        604800.0,
    ),
    (
        r"(?:last|past|previous) month|letzten? monats?|mois dernier|dernier mois|último mes|mes pasado|上个月",
        2592000.0,
    ),
    (r"(?:last|past|previous) hour|letzten? stunde|dernière heure|última hora", 3600.0),
)
_BARE_LENGTH = re.compile(
    r"(?:\((?=\d{1,3}[\s-][a-zà-ÿ]+\))|(?<![A-Za-z])(?:in|over|during|across|en|em|sur|durant|negli)\s+(?:(?:the|"
    r"these|those|all|den|les|los)\s+)?)(?P<number>\d{1,3})[\s-]",
    re.I,
)
_WEEKS = tuple((re.compile(rf"(?<![A-Za-z])(?:{form})(?![A-Za-z])", re.I), seconds) for form, seconds in _NAMED)
_BEFORE = re.compile(  # the 7 days before
    r"(?<![\d.,])(?P<number>\d{1,3})\s[^\W\d_]+\s(?:before|earlier|précédente?s|zuvor|davor|vorher|anteriores|"
    r"precedenti)\b",
    re.I,
)
_MONTHS = re.compile(r"months?|monate?n?|mois|mes(?:es)?|mesi", re.I)
_MONTH, _DAY = 2592000.0, 86400.0
_GLOSS = re.compile(r"\s*\((?:\d{1,2}|24) (?:days|hours|Tage|Stunden|jours|heures|días|horas)\)")


def periods_in(text: str) -> Iterator[tuple[int, int, float]]:
    """The lengths of time that a text names as the period behind it, in seconds, each with its place."""
    for match in _LENGTH.finditer(text):
        number = float(match["number"].replace(",", "."))
        if (month := _MONTHS.match(text, match.end())) is not None:
            yield match.start(), month.end(), number * _MONTH
        elif (found := unit_at(text, match.end())) is not None and _is_span(match[0], found[0]):
            yield match.start(), found[1], number * found[0].factor
    for match in _BEFORE.finditer(text):
        unit = unit_at(text, match.end("number") + 1)
        if unit is not None and unit[0].kind is Kind.SECONDS:
            yield match.start(), match.end(), float(match["number"]) * unit[0].factor
    for form, seconds in _WEEKS:
        yield from ((match.start(), _behind_gloss(text, match.end()), seconds) for match in form.finditer(text))


def lengths_in(text: str, lengths: Collection[float]) -> Iterator[tuple[int, int, float]]:
    """Periods told by their length alone, where a result has that length: wasted in 7 days."""
    for match in _BARE_LENGTH.finditer(text):
        found = unit_at(text, match.end())
        seconds = 0.0 if found is None or found[0].kind is not Kind.SECONDS else int(match["number"]) * found[0].factor
        if found is not None and seconds >= _DAY and any(is_same_length(seconds, one) for one in lengths):
            yield match.start(), found[1], seconds


def _is_span(said: str, unit: Unit) -> bool:
    """Whether it is a span of time that is looked at: jobs that start within 8 hours say how long they wait."""
    is_within = said.lower().startswith("within") and "last" not in said.lower()
    return unit.kind is Kind.SECONDS and (unit.factor >= _DAY or not is_within)


def _behind_gloss(text: str, end: int) -> int:
    """Where a period ends that is said twice: last week (7 days)."""
    gloss = _GLOSS.match(text, end)
    return end if gloss is None else gloss.end()


def is_same_length(asked: float, seconds: float) -> bool:
    """Whether a period is meant by a length: months differ, and a range may end at a full hour."""
    return abs(asked - seconds) <= max(0.06 * asked, 60.0)
