"""The nodes' address: filters, moment and view; what cannot be used is named and left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from components.node_words import BUCKETS
from components.nodes import VIEWS, NodesAnswer
from data.features import wanted_features
from data.model import NodeFilter, Viewer
from data.narrowing import FilterOptions
from data.queries.node_detail import nodes_view
from data.sources import Sources
from pages._address import moment_of, text_of
from pages._filters_asked import MAX_FEATURES, FiltersAsked, known_features


@dataclass(frozen=True, slots=True)
class NodesAsked(FiltersAsked):
    """The filters, and what this page alone can be asked for."""

    view: str = VIEWS[0][0]

    @property
    def filter(self) -> NodeFilter:
        return NodeFilter(
            partitions=_one(self.partition),
            states=_one(self.state),
            models=_one(self.model),
            feature_sets=wanted_features(self.feature),
            text=self.text,
        )


def parse_nodes_address(query: Mapping[str, str], now: datetime, zone: str) -> NodesAsked:
    """Read the query string; never fails."""
    ignored: list[str] = []
    view = text_of(query, "view")
    if view and view not in dict(VIEWS):
        ignored.append(f"view = “{view[:40]}” is none of {', '.join(key for key, _ in VIEWS)}.")
        view = ""
    return NodesAsked(
        partition=text_of(query, "partition"),
        state=text_of(query, "state"),
        model=text_of(query, "model"),
        feature=text_of(query, "feature", MAX_FEATURES),
        text=text_of(query, "q"),
        view=view or VIEWS[0][0],
        at=moment_of(query, now, zone, ignored),
        ignored=tuple(ignored),
    )


def answer(asked: NodesAsked, viewer: Viewer, sources: Sources, base: str) -> NodesAnswer:
    """The nodes that the address asks for. Raises SourceError when there is no picture at all."""
    view = nodes_view(viewer, sources, asked.filter, asked.at)
    known = _without_unknown(asked, view.options)
    if known.filter != asked.filter:
        view = nodes_view(viewer, sources, known.filter, known.at)
    return NodesAnswer(
        view=view,
        chosen=known.chosen,
        ignored=known.ignored,
        is_staff=viewer.is_staff,
        version="|".join((view.snapshot.version, *known.chosen.values())),
        base=f"{base}/",
        at=known.at.isoformat() if known.at else "",
        now_href=base,
    )


def _without_unknown(asked: NodesAsked, options: FilterOptions) -> NodesAsked:
    """Leave out, and name, what no node of this picture has. A state comes and goes: every known one is kept."""
    have = {
        "partition": options.partitions,
        "state": tuple(BUCKETS),
        "model": options.models,
    }
    unknown = [key for key, values in have.items() if values and asked.chosen[key] and asked.chosen[key] not in values]
    feature, no_feature = known_features(asked.feature, options.features) if options.states else (asked.feature, ())
    if not unknown and not no_feature:
        return asked
    said = [f"This cluster has no {key} “{asked.chosen[key][:40]}”." for key in unknown]
    part, state, model = ("" if key in unknown else asked.chosen[key] for key in have)
    ignored = (*asked.ignored, *said, *no_feature)
    return replace(asked, partition=part, state=state, model=model, feature=feature, ignored=ignored)


def _one(value: str) -> frozenset[str]:
    return frozenset({value} if value else ())
