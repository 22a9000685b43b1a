"""A question as the parameters of an address or a command say it, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches

from data.errors import BadRequest
from data.moment import parse_edge
from data.queries.history.groups import COLUMNS, SIZES, Group
from data.queries.history.model import Between, HistoryFilter, ReportQuery

LONGEST = timedelta(days=3660)
DEFAULT_SINCE = "-30d"
MOST_WORDS, MOST_ROWS = 200, 1_000_000

# Parameter by field of the filter.
FILTERS = {
    "user": "users",
    "account": "accounts",
    "department": "departments",
    "partition": "partitions",
    "qos": "qos",
    "model": "models",
    "state": "states",
    "node": "nodes",
    "finding": "findings",
    "application": "applications",
    "size": "sizes",
}
_RANGES = {"util": "utilization", "memory": "gpu_memory_gib"}
PARAMETERS = (*FILTERS, *_RANGES, "by", "since", "until", "level", "columns", "sort", "limit", "compare")

Parameters = Mapping[str, str | Sequence[str] | None]


def report_query(parameters: Parameters, now: datetime, zone: tzinfo = UTC) -> ReportQuery:
    """Read `by`, `since`, `until` ("30d", "-30d", a date or time of `zone`), `level`, `columns`, `sort`, `limit`,
    `compare`, and the filters of FILTERS (separated by commas or repeated); `util` is "lo-hi" in percent, `memory`
    "lo-hi" in GiB, either side may be empty.

    Unknown parameters are left alone (a page has others of its own). Raises BadRequest that names what is wrong.
    """
    words = {name: _words(name, parameters.get(name)) for name in PARAMETERS}
    one = {name: _one(name, found) for name, found in words.items() if name not in (*FILTERS, "columns")}
    until = parse_edge("until", one["until"] or "now", now, zone)
    since = parse_edge("since", one["since"] or DEFAULT_SINCE, now, zone)
    if not since < until:
        raise BadRequest(
            f"since {since:%Y-%m-%d %H:%M} UTC is not before until {until:%Y-%m-%d %H:%M} UTC",
            hint="Give a begin that is before the end.",
        )
    if until - since > LONGEST:
        raise BadRequest(f"{(until - since).days} days are too many", hint=f"Ask for at most {LONGEST.days} days.")
    query = ReportQuery(since, until, by=_group(one["by"]), filter=_filter(words, one))
    return ReportQuery(
        since,
        until,
        query.by,
        query.filter,
        account_level=_level(query.by, one["level"]),
        columns=_columns(words["columns"]) or query.columns,
        sort=_sort(one["sort"]) or query.sort,
        limit=_whole("limit", one["limit"], 1, MOST_ROWS),
        compare=_yes("compare", one["compare"]),
    )


def parameters_of(query: ReportQuery) -> dict[str, str | tuple[str, ...]]:
    """The parameters that ask the same, defaults left out: for an address that can be sent to a colleague."""
    default = ReportQuery(query.since, query.until)
    found: dict[str, str | tuple[str, ...]] = {
        "since": query.since.astimezone(UTC).isoformat(),
        "until": query.until.astimezone(UTC).isoformat(),
    }
    if query.by is not default.by:
        found["by"] = query.by.value
    for name, attribute in FILTERS.items():
        if values := getattr(query.filter, attribute):
            found[name] = tuple(sorted(values))
    for name, attribute in _RANGES.items():
        if (between := getattr(query.filter, attribute)) is not None:
            found[name] = _text_of(between, 100 if name == "util" else 1)
    if query.account_level is not None:
        found["level"] = str(query.account_level)
    if query.columns != default.columns:
        found["columns"] = query.columns
    if query.sort != default.sort:
        found["sort"] = query.sort
    if query.limit is not None:
        found["limit"] = str(query.limit)
    if query.compare:
        found["compare"] = "yes"
    return found


def _words(name: str, given: str | Sequence[str] | None) -> list[str]:
    """The words of a parameter, empty ones left out. Job name patterns may hold commas: they are only repeated."""
    values = [given] if isinstance(given, str) else list(given or ())
    parts = values if name == "application" else [part for value in values for part in value.split(",")]
    found = [part.strip() for part in parts if part.strip()]
    if len(found) > MOST_WORDS or any(len(part) > 1000 for part in found):
        raise BadRequest(f"{name}: too much text", hint=f"At most {MOST_WORDS} words of 1,000 characters.")
    return found


def _one(name: str, words: list[str]) -> str:
    if len(words) > 1:
        raise BadRequest(f"{name}={','.join(words)[:80]} names {len(words)} values, and one is wanted")
    return words[0] if words else ""


def _group(text: str) -> Group:
    return Group(_known("by", text, [group.value for group in Group])) if text else Group.USER


def _filter(words: Mapping[str, list[str]], one: Mapping[str, str]) -> HistoryFilter:
    chosen = {attribute: frozenset(words[name]) for name, attribute in FILTERS.items()}
    chosen["states"] = frozenset(word.upper() for word in words["state"])
    chosen["sizes"] = frozenset(_known("size", word, SIZES) for word in words["size"])
    return HistoryFilter(
        **chosen,
        utilization=_between("util", one["util"], 0.01),
        gpu_memory_gib=_between("memory", one["memory"], 1.0),
    )


def _between(name: str, text: str, scale: float) -> Between | None:
    if not text:
        return None
    low, dash, high = text.partition("-")
    try:
        sides = [float(side) * scale if side.strip() else None for side in (low, high)]
    except ValueError as err:
        raise BadRequest(f"{name}={text[:60]} is no range", hint="Write it as 20-40, 20- or -40.") from err
    is_sound = all(side is None or 0 <= side < float("inf") for side in sides)
    if not dash or not is_sound or (sides[0] is not None and sides[1] is not None and sides[0] >= sides[1]):
        raise BadRequest(f"{name}={text[:60]} is no range", hint="Write it as 20-40, 20- or -40.")
    return Between(sides[0], sides[1])


def _text_of(between: Between, scale: float) -> str:
    low, high = (("" if side is None else f"{side * scale:g}") for side in (between.low, between.high))
    return f"{low}-{high}"


def _columns(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_known("columns", word, COLUMNS) for word in words))


def _sort(text: str) -> str:
    return text if not text else ("-" * text.startswith("-")) + _known("sort", text.lstrip("-"), (*COLUMNS, "name"))


def _level(by: Group, text: str) -> int | None:
    level = _whole("level", text, 1, 100)
    if level is not None and by is not Group.ACCOUNT:
        raise BadRequest(f"level={level} is one of the account tree, and this is by {by.value}", hint="Ask by account.")
    return level


def _whole(name: str, text: str, least: int, most: int) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise BadRequest(f"{name}={text[:60]} is not a whole number from {least} to {most:,}")
    return int(text)


def _yes(name: str, text: str) -> bool:
    return bool(text) and _known(name, text.lower(), ("yes", "no", "true", "false", "1", "0")) in {"yes", "true", "1"}


def _known(name: str, word: str, known: Iterable[str]) -> str:
    names = list(known)
    if word not in names:
        near = get_close_matches(word, names, 3) or names[:12]
        raise BadRequest(f"{name}={word[:60]} is not known", hint=f"Such as {', '.join(near)}.")
    return word
