"""The Policy page's address: filters, order, the job whose evidence is open, the moment; what is wrong is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from components.policy_address import FILTERS, PolicyAddress
from components.policy_page import MORE
from components.policy_table import SORTS
from pages._address import choice_of, moment_of, number_of, text_of
from policy.model import Status

MOST_ACTS = 10_000


@dataclass(frozen=True, slots=True)
class AskedPolicy:
    address: PolicyAddress
    at: datetime | None = None
    ignored: tuple[str, ...] = ()


def parse_policy_address(query: Mapping[str, str], now: datetime, zone: str, path: str) -> AskedPolicy:
    """Read the query string; never fails."""
    ignored: list[str] = []
    words = {key: text_of(query, key) for key in (*FILTERS, "q", "job", "whatif", "form")}
    words["status"] = choice_of(query, "status", [one.value for one in Status], "", ignored)
    words["limit"] = choice_of(query, "limit", MORE, "", ignored)
    sort = text_of(query, "sort")
    if sort and sort.removeprefix("-") not in SORTS:
        ignored.append(f"sort = “{sort[:40]}” is none of {', '.join(SORTS)}, with or without “-” before it.")
        sort = ""
    words["sort"] = sort
    words["acts"] = str(number_of(query, "acts", ignored, MOST_ACTS) or "")
    words["curve"] = choice_of(query, "curve", ["yes"], "", ignored)
    at = moment_of(query, now, zone, ignored)
    words["at"] = at.isoformat() if at is not None else ""
    return AskedPolicy(PolicyAddress(path, {key: value for key, value in words.items() if value}), at, tuple(ignored))
