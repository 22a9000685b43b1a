"""The address of the detailed metrics: range, rows, filters; what cannot be used is named and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from components.metrics_answer import FILTERS, GROUPS, PERIODS, words_of
from data.errors import BadRequest
from data.moment import parse_moment
from data.queries.metrics import Group, Question
from data.queries.metrics.rows import SORTS
from pages._address import choice_of, moment_of, text_of

CUSTOM = "custom"
DEFAULT_PERIOD = "1h"
DEFAULT_SORT = "-gpu_hours"
_SECONDS = {"m": 60, "h": 3600, "d": 86_400}
_SHORTEST = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class AskedMetrics:
    """What the address asks for. `chosen` has every part by its name there, "" = not set."""

    question: Question
    chosen: Mapping[str, str]
    period: str
    at: datetime | None
    ignored: tuple[str, ...] = ()

    def query(self) -> str:
        """The same question as a query string, without what only the screen needs."""
        kept = {key: value for key, value in self.chosen.items() if value and key not in ("row", "at")}
        if self.at is not None:
            kept["at"] = self.at.isoformat()
        return urlencode(kept)


def parse_metrics_address(query: Mapping[str, str], now: datetime, zone: str) -> AskedMetrics:
    """Read the query string; never fails."""
    ignored: list[str] = []
    at = moment_of(query, now, zone, ignored)
    group = choice_of(query, "group", [key for key, _ in GROUPS], Group.JOB.value, ignored)
    since, until, period = _range(query, at or now, zone, ignored)
    sort = text_of(query, "sort") or DEFAULT_SORT
    if sort.removeprefix("-") not in SORTS:
        ignored.append(f"sort = “{sort[:40]}” is none of {', '.join(SORTS)}, with or without “-” before it.")
        sort = DEFAULT_SORT
    chosen = {key: text_of(query, key) for key in (*FILTERS, "application", "q", "finding", "row")}
    split = "1" if text_of(query, "split") in ("1", "true", "True") else ""
    dates = {key: text_of(query, key) if period == CUSTOM else "" for key in ("since", "until")}
    question = Question(
        since, until, Group(group), bool(split), **_sets(chosen), text=chosen["q"], finding=chosen["finding"], sort=sort
    )
    all_chosen = {"group": group, "period": period, "split": split, "sort": sort, **chosen, **dates}
    all_chosen["at"] = at.isoformat() if at else ""
    return AskedMetrics(question, all_chosen, words_of(period, question.seconds), at, tuple(ignored))


def _sets(chosen: Mapping[str, str]) -> dict[str, frozenset[str]]:
    names = {"user": "users", "account": "accounts", "partition": "partitions", "model": "models"}
    names["application"] = "applications"
    return {plural: frozenset({chosen[key]} if chosen[key] else ()) for key, plural in names.items()}


def _range(query: Mapping[str, str], now: datetime, zone: str, ignored: list[str]) -> tuple[datetime, datetime, str]:
    """[since, until) and the name of the period: one that the page offers, else the two moments in the address."""
    known = [key for key, _ in PERIODS]
    if text_of(query, "since"):
        try:
            since = parse_moment(text_of(query, "since"), now, ZoneInfo(zone)) or now
            until = parse_moment(text_of(query, "until"), now, ZoneInfo(zone)) or now
            if until - since >= _SHORTEST:
                return since, until, CUSTOM
            ignored.append("The range of the address has no length: since must come a minute before until.")
        except BadRequest as err:
            ignored.append(f"since and until: {err}. {err.hint}")
    asked = {**query, "period": ""} if text_of(query, "period") == CUSTOM else query
    period = choice_of(asked, "period", known, DEFAULT_PERIOD, ignored)
    length = timedelta(seconds=int(period[:-1]) * _SECONDS[period[-1]])
    return now - length, now, period
