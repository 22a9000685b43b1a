"""How a day is written: as a date, with the name of its month, or as a weekday where only one is meant. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from typing import Protocol

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = (
    r"mondays?|montags?|lundis?|lunes|lunedì|周一|星期一",
    r"tuesdays?|dienstags?|mardis?|martes|martedì|周二|星期二",
    r"wednesdays?|mittwochs?|mercredis?|miércoles|mercoledì|周三|星期三",
    r"thursdays?|donnerstags?|jeudis?|jueves|giovedì|周四|星期四",
    r"fridays?|freitags?|vendredis?|viernes|venerdì|周五|星期五",
    r"saturdays?|samstags?|sonnabends?|samedis?|sábado|sabato|周六|星期六",
    r"sundays?|sonntags?|dimanches?|domingo|domenica|周日|星期日|星期天",
)


_BESIDE = (
    (re.compile(r"\b(?:the day before|the previous day|am tag davor|am vortag|la veille|el día anterior)\b", re.I), -1),
    (
        re.compile(
            r"\b(?:the day after|the (?:next|following) day|am tag danach|am folgetag|le lendemain|el día siguiente)\b",
            re.I,
        ),
        1,
    ),
)


_TODAY = (
    (r"today|heute|aujourd'hui|hoy|oggi|今天", 0),
    (r"yesterday|gestern|ayer|ieri|昨天", -1),
)


class DayNamed(Protocol):
    """Where a text names a day, and which days it can mean."""

    @property
    def start(self) -> int: ...

    @property
    def names(self) -> frozenset[str]: ...


def day_form(day: str) -> str:
    """The ways to write a date such as 2026-11-30."""
    year, month, number = day.split("-") if day.count("-") == 2 else ("", "01", "")
    if not year:
        return re.escape(day)
    name = rf"{_MONTHS[int(month) - 1]}[a-zé]*\.?"
    short = str(int(number))
    plain = rf"{re.escape(day)}|\b{short}(?:\.|st|nd|rd|th)?\s+{name}|{name}\s+{short}(?!\d)|\b{number}\.{month}\."
    return rf"(?i:{plain}|(?<!\d){int(month)}\s?月\s?{short}\s?[日号])"


def weekday_forms(days: Collection[str]) -> Iterator[tuple[frozenset[str], re.Pattern[str]]]:
    """The weekdays of known dates; one that several of them share may mean any of these."""
    for number, words in enumerate(_WEEKDAYS):
        same = frozenset(day for day in days if _weekday(day) == number)
        if same:
            short = _WEEKDAYS[number][:3].capitalize()
            yield same, re.compile(rf"(?<![A-Za-z])(?:(?-i:{short}(?=[ .:,)(]))|{words})(?![A-Za-z])", re.I)
    yield from _counted_back(days)


def _counted_back(days: Collection[str]) -> Iterator[tuple[frozenset[str], re.Pattern[str]]]:
    """Today is the last day of the results, and yesterday the one before it."""
    last = max((day for day in days if _weekday(day) is not None), default=None)
    for words, step in _TODAY if last else ():
        yield frozenset({_shifted(str(last), step)}), re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.I)


def days_beside(text: str, named: Sequence[DayNamed]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """The places of "the day before" and "the day after", and which days they are, counted from the one named last."""
    for words, step in _BESIDE:
        for match in words.finditer(text):
            before = [one for one in named if one.start < match.start()]
            if before:
                last = max(before, key=lambda one: one.start)
                yield *match.span(), frozenset(_shifted(day, step) for day in last.names)


def _shifted(day: str, step: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=step)).isoformat()
    except (ValueError, OverflowError):
        return day


def _weekday(day: str) -> int | None:
    try:
        return date.fromisoformat(day).weekday()
    except ValueError:
        return None
