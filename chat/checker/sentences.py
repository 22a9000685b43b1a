"""Cuts an answer into sentences, each line of a list or table being one, and tells what is no prose in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from chat.units import unit_at

_END = re.compile(r"[.!?…]+[\"')\]*_]*(?=\s|$)|[。\uff01\uff1f]")
_ABBREVIATION = re.compile(
    r"(?:\b(?:approx|ca|no|nr|vs|e\.g|i\.e|z\.B|bzw|etc|incl|max|min|avg|resp|env|p\.ex|Std|Tsd|Mio))$", re.I
)
_SHORT_DATE = re.compile(r"(?<![\d.])\d{1,2}\.\d{1,2}\.[)\]]?$")
_ORDINAL = re.compile(r"(?<![\d.,])\d{1,2}\.$")
_LIST = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+|\s*#{1,6}\s+|\s*>\s*")
_REACH = 400  # characters to either side of a figure, in which its clause is looked for
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_RULER = re.compile(r"\s*\|?[\s:|-]+\|?\s*$")
_CLAUSE = re.compile(
    r"[;()\uff0c\uff1b\uff08\uff09\u3001]|,(?!\d)|(?<=[\u4e00-\u9fff]),|\s[–—·]\s|"
    r"\b(?:while|whereas|of which|but|während|davon|tandis que|mientras)\b",
    re.I,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.S)
_LINK = re.compile(
    r"\]\([^)\s]*\)|\b(?:https?://|www\.)\S+|(?<![\w.])/(?:jobs|nodes|users|efficiency|metrics|policy)\S*"
)
_TIMES = re.compile(
    r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?Z?)?|\b\d{1,2}:\d{2}(?::\d{2})?\b"
    r"|\b(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:\d{4}\b|\d{2}\b|(?=\s+[a-zäöü]|[,;)]))"
    r"|\b\d+-\d{2}:\d{2}:\d{2}\b|\b\d{1,2}/\d{1,2}/\d{2,4}\b"
    r"|\b\d{1,2}\s?(?:am|pm|Uhr|h\d{2})\b|(?<=\bà )\d{1,2}\sh\s\d{2}\b"
)
_MONTH = (
    r"(?:jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|février|march|märz|mars|april?|avril|may|mai|mayo|june?|juin|"
    r"july?|juillet|aug(?:ust)?|août|sept?(?:ember)?|o[ck]t(?:ober)?|octobre|nov(?:ember|embre|iembre)?|"
    r"de[cz](?:ember)?|décembre|diciembre|enero|febrero|marzo|abril|junio|julio|agosto|septiembre|octubre)\.?"
)
_WEEKDAY = (
    r"(?:(?:mon|tues?|wed|thu(?:rs)?|fri|sat|sun)(?:day|nesday|urday)?|(?:diens|donners|frei|sams|sonn|mon)tag|"
    r"mittwoch|"
    r"(?:lun|mar|mercre|jeu|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo)"
)
_DATES = re.compile(
    rf"\b{_WEEKDAY}\.?,?\s+\d{{1,2}}(?:st|nd|rd|th)?(?=\s*(?:[:,)|—–-]|$))|"
    rf"\d{{1,2}}\s?月(?:\s?\d{{1,2}}\s?[日号])?|"
    rf"\b(?:(?:\d{{1,2}}\.?\s?(?:[-–]|and|to|till|bis|und|au|et|al|y|e)\s?)?\d{{1,2}}(?:\.|st|nd|rd|th|"
    rf"er)?\s+(?:de\s+)?{_MONTH}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?:\s?[-–]\s?\d{{1,2}})?)(?![\w%])(?:,?\s+(?:de\s+)?\d{{4}})?",
    re.I,
)
# What is asked of Slurm, and the numbers of many: --cpus-per-task=8, OMP_NUM_THREADS=16, h[001-004], tasks 7-11.
_ASKED = re.compile(
    r"(?<![\w-])--[a-z][\w-]*(?:=|\s)\S*\d[^\s,;.)]*|(?<![\w-])-[a-zA-Z]\s?\d+\b|\b[A-Z][A-Z0-9_]{3,}=\d+|"
    r"(?:[A-Za-z][\w-]{0,30})?\[\d[\d,%–-]*\]"
    r"|(?i:\b(?:tasks?|index|indices|indizes|tâches|tareas)\s+|任务\s?|タスク\s?)\d+\s?(?:[-–~]|to|bis|à|a)\s?\d+"
)
_VERSION = re.compile(
    r"\b\d+\.\d+\.\d+(?:\.\d+)?\b|\b(?:version|CUDA|Slurm|Python|PyTorch|driver|NCCL|cuDNN|TensorFlow|JAX|DCGM|"
    r"exit code|XID|signal|top|next|Nr\.|No\.|QOS(?=\s+\d{1,2}(?![\d.,]*\d)))\s+v?\d+(?:\.\d+)*",
    re.I,
)
_PERCENTILE = re.compile(
    r"\b\d{1,2}(?:\.|th|e|º|\.º)?\s*(?=(?:percentile|perzentil|centile|percentil))|\b(?:percentile|perzentil|"
    r"percentil)\s\d{1,2}\b",
    re.I,
)
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d{2}\b(?![.,]\d)(?=[.,;)]?(?:\s*$|\s+(?!of)[a-z]{2,}))", re.M)


@dataclass(frozen=True, slots=True)
class Sentence:
    """At [start, end) of the text; `heads` are the column heads over a row of a table, by the place of its cells."""

    start: int
    end: int
    is_item: bool = False
    heads: tuple[tuple[int, int, str], ...] = field(default=())

    def clause(self, text: str, place: int) -> tuple[int, int]:
        """Where the clause around a place begins and ends."""
        first, last = max(self.start, place - _REACH), min(self.end, place + _REACH)
        marks = [match.start() for match in _CLAUSE.finditer(text, first, last)]
        begin = max((mark for mark in marks if mark < place), default=first)
        end = min((mark for mark in marks if mark >= place), default=last)
        return begin, end

    def head(self, place: int) -> str:
        """The head of the column in which a place lies; empty outside of tables."""
        return next((head for start, end, head in self.heads if start <= place < end), "")

    def label(self, text: str) -> str:
        """What stands in the first cell of a row of a table; empty outside of tables."""
        return text[self.heads[0][0] : self.heads[0][1]].strip() if self.heads else ""


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences in order. Blocks of code are in none."""
    blocks = [(match.start(), match.end()) for match in re.finditer(r"```.*?(?:```|\Z)", text, re.S)]
    heads: tuple[str, ...] = ()
    for match in re.finditer(r"[^\n]+", text):
        start, end = match.span()
        if any(begin <= start < stop for begin, stop in blocks) or not match[0].strip():
            continue
        if not _TABLE.match(match[0]):
            heads = ()
            yield from _of_line(text, start, end)
        elif not heads:
            heads = tuple(cell for _, _, cell in _cells(text, start, end))
        elif not _RULER.match(match[0]):
            places = _cells(text, start, end)
            named = tuple((a, b, head) for (a, b, _), head in zip(places, heads, strict=False))
            yield Sentence(start, end, is_item=True, heads=named)


def _cells(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    marks = [place for place in range(start, end) if text[place] == "|"]
    return [(a + 1, b, text[a + 1 : b].strip()) for a, b in pairwise(marks)]


def _of_line(text: str, start: int, end: int) -> Iterator[Sentence]:
    item = _LIST.match(text, start, end)
    begin = item.end() if item else start
    for match in _END.finditer(text, begin, end):
        if match[0] in (".", ".)", ".]") and match.end() < end and _goes_on(text, begin, match.end()):
            continue
        yield Sentence(begin, match.end(), item is not None)
        begin = match.end() + len(text[match.end() : end]) - len(text[match.end() : end].lstrip())
    if text[begin:end].strip():
        yield Sentence(begin, begin + len(text[begin:end].rstrip()), item is not None)


def _goes_on(text: str, begin: int, end: int) -> bool:
    """Whether a full stop ends no sentence: after an abbreviation, or within a date such as 30. November."""
    if _ABBREVIATION.search(text, begin, end - 1) or _SHORT_DATE.search(text, begin, end):
        return True
    is_ordinal = _ORDINAL.search(text, begin, end) is not None
    return is_ordinal and re.match(rf"\s+(?:{_MONTH}|perzentil)", text[end : end + 20], re.I) is not None


def silent_spans(text: str) -> list[tuple[int, int]]:
    """Where a number is no figure: code, addresses, dates, times, versions, the numbers of a list."""
    found = [
        match.span()
        for form in (_LINK, _TIMES, _DATES, _ASKED, _VERSION, _PERCENTILE, _YEAR)
        for match in form.finditer(text)
    ]
    found += [match.span() for match in _CODE.finditer(text) if not _is_figure(match[0].strip("`* "))]
    return found + [match.span() for match in re.finditer(r"^[ \t]*\d{1,2}[.)](?=\s)", text, re.M)]


def _is_figure(code: str) -> bool:
    """Whether code is no more than a number with its unit, and so a figure in other letters."""
    number = re.match(r"[-\u2212]?[\d.,\s]*\d\s*", code)
    if number is None or number.end() == len(code):
        return number is not None and len(re.sub(r"\D", "", code)) < 6
    unit = unit_at(code, number.end())
    return unit is not None and unit[1] == len(code)
