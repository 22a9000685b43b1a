"""The Overview's address: filters, moment, metric and grouping; what cannot be used is named and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from components.gpu_map import GROUPS, METRIC_CHOICES
from data.features import wanted_features
from data.last_day import DayOfUse
from data.model import GpuState, NodeFilter
from pages._address import choice_of, moment_of, text_of
from pages._filters_asked import MAX_FEATURES, FiltersAsked
from policy.queries import VerdictList

STATES = frozenset(state.value for state in GpuState)


@dataclass(frozen=True, slots=True)
class Asked(FiltersAsked):
    """The filters, and what this page alone can be asked for."""

    metric: str = METRIC_CHOICES[0][0]
    group: str = GROUPS[0][0]
    compare: bool = False

    def version(self, shown: str, day: DayOfUse | None = None, judged: VerdictList | None = None) -> str:
        """What names an answer: the version of the picture that it shows, and what was asked of it."""
        at = self.at.isoformat() if self.at else ""
        compared = "compared" if self.compare else ""
        known = (day.version if day else "", judged.time.isoformat() if judged else "")
        return "|".join((shown, *known, at, compared, *self.chosen.values()))

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
    state = choice_of(query, "state", sorted(STATES), "", ignored)
    metric = choice_of(query, "metric", [key for key, _ in METRIC_CHOICES], METRIC_CHOICES[0][0], ignored)
    group = choice_of(query, "group", [key for key, _ in GROUPS], GROUPS[0][0], ignored)
    return Asked(
        partition=text_of(query, "partition"),
        state=state,
        model=text_of(query, "model"),
        feature=text_of(query, "feature", MAX_FEATURES),
        text=text_of(query, "q"),
        metric=metric,
        group=group,
        at=moment_of(query, now, zone, ignored),
        compare=text_of(query, "compare") == "1",
        ignored=tuple(ignored),
    )
