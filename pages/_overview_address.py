"""The Overview's address: filters, moment, metric and grouping; what cannot be used is named and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from components.elements import ANY
from components.gpu_map import GROUPS, METRIC_CHOICES
from data.errors import BadRequest
from data.features import wanted_features
from data.last_day import DayOfUse
from data.model import GpuState, NodeFilter
from data.moment import parse_moment
from pages._filters_asked import MAX_FEATURES, MAX_TEXT, FiltersAsked

STATES = frozenset(state.value for state in GpuState)


@dataclass(frozen=True, slots=True)
class Asked(FiltersAsked):
    """The filters, and what this page alone can be asked for."""

    metric: str = METRIC_CHOICES[0][0]
    group: str = GROUPS[0][0]
    compare: bool = False

    def version(self, shown: str, day: DayOfUse | None = None) -> str:
        """What names an answer: the version of the picture that it shows, and what was asked of it."""
        at = self.at.isoformat() if self.at else ""
        compared = "compared" if self.compare else ""
        return "|".join((shown, day.version if day else "", at, compared, *self.chosen.values()))

    @property
    def filter(self) -> NodeFilter:
        return NodeFilter(
            partitions=_one(self.partition),
            gpu_states=_one(self.state),
            models=_one(self.model),
            feature_sets=wanted_features(self.feature),
            text=self.text,
        )


def _one(value: str) -> frozenset[str]:
    return frozenset({value} if value else ())


def parse_address(query: Mapping[str, str], now: datetime, zone: str) -> Asked:
    """Read the query string; never fails."""
    ignored: list[str] = []
    state = _choice(query, "state", STATES, "", ignored)
    metric = _choice(query, "metric", {key for key, _ in METRIC_CHOICES}, METRIC_CHOICES[0][0], ignored)
    group = _choice(query, "group", {key for key, _ in GROUPS}, GROUPS[0][0], ignored)
    return Asked(
        partition=_text(query, "partition"),
        state=state,
        model=_text(query, "model"),
        feature=_text(query, "feature", MAX_FEATURES),
        text=_text(query, "q"),
        metric=metric,
        group=group,
        at=_moment(query, now, zone, ignored),
        compare=_text(query, "compare") == "1",
        ignored=tuple(ignored),
    )


def _text(query: Mapping[str, str], key: str, most: int = MAX_TEXT) -> str:
    text = str(query.get(key) or "").strip()[:most]
    return "" if text == ANY else text


def _choice(
    query: Mapping[str, str], key: str, known: frozenset[str] | set[str], default: str, ignored: list[str]
) -> str:
    value = _text(query, key)
    if value in known or not value:
        return value or default
    ignored.append(f"{key} = “{value[:40]}” is none of {', '.join(sorted(known))}.")
    return default


def _moment(query: Mapping[str, str], now: datetime, zone: str, ignored: list[str]) -> datetime | None:
    try:
        return parse_moment(_text(query, "at"), now, ZoneInfo(zone))
    except BadRequest as err:
        ignored.append(f"at: {err}. {err.hint}")
        return None
