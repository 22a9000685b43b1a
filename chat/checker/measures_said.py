"""Which of the measures that the words around a figure name can be its own. Pure."""

from __future__ import annotations

import re

from chat.checker.context import Part
from chat.checker.numbers import Written
from chat.checker.words import measures_for, measures_of_text
from chat.units import Kind

_JOINS = re.compile(r"(?<![A-Za-z])(?:of|out|the|its|to|and|or|von|den|der|bis|und|de|sur|et|à|y)(?![A-Za-z])", re.I)
_WORD = re.compile(r"[^\W\d_]{2,}")
# 350 of roughly 1,900 measured, 22 % is below the limit of 65 %: the words behind are of the second number.
_PART = re.compile(
    r"[^\d.;:|()]{0,60}?(?<![A-Za-z])(?:of|von|vom|der|sur|des?|di|su|below|under|above|over|than|unter|über|sous|"
    r"debajo|bajo)\s+[^\d.;:|()]{0,40}\d",
    re.I,
)
_WHOLES = frozenset({"allocated", "coverage", "limit"})
_AT_MOST = re.compile(
    r"(?<![A-Za-z])(?:up to|at most|a maximum of|höchstens|maximal|bis zu|jusqu.à|au plus|maximum|hasta|como máximo|"
    r"al massimo|fino a)\s+[*_]*$|(?:最多|最大|最長)\s*$",
    re.I,
)
_RUNS_AT = re.compile(
    r"(?<![A-Za-z])(?:r[au]n|runs|running|sits?|works?|working|läuft|laufen|liefen|tourn\w+|trabaj\w+|funcion\w+)\s+"
    r"(?:[a-z]+\s+)?(?:at|bei|mit|zu|à|al)\s+(?:[a-zé]+\s+)?[~≈]?$",
    re.I,
)
_WITHIN = re.compile(
    r"(?<![A-Za-z])(?:in|within|over|during|en|dans|sur|durant|während)\s+"
    r"(?:(?:the|its|their|der|den|les|las|los)\s+)?(?:[a-zà-ÿ]+\s+)?[~≈*_]*$",
    re.I,
)


def own_end(text: str, figure: Written, part: Part, end: int) -> int:
    """Where the words behind a figure become those of the next: 297 are taken and | 31 are free."""
    behind = [one.start for one in (*part.figures, *part.small) if figure.end <= one.start < end]
    has_own = bool(behind) and _WORD.search(_JOINS.sub(" ", text[figure.end : min(behind)])) is not None
    return min(behind) if has_own else end


def measures_said(text: str, begin: int, words: str, figure: Written) -> frozenset[str]:
    """The measures that a figure can be of: 2.5 GPU-hours of waste in 15 h speaks of a run time, too, and 200 out of
    509 allocated are not themselves what is allocated."""
    spoken = measures_of_text(words)
    if _PART.match(text, figure.end):
        spoken = spoken - (_WHOLES - measures_of_text(text[begin : figure.start]))
    if _RUNS_AT.search(text, begin, figure.start):
        spoken = spoken - {"allocated"} | {"utilization"}
    if figure.unit is not None and figure.unit.noun == "cpus":
        spoken = spoken | {"cpu"}
    if figure.unit is None or figure.unit.kind is not Kind.SECONDS:
        return spoken
    if _AT_MOST.search(text, begin, figure.start):
        spoken = spoken | {"limit"}
    of_time = measures_for(Kind.SECONDS, spoken)
    return of_time | {"elapsed", "window"} if of_time and _WITHIN.search(text[begin : figure.start]) else of_time
