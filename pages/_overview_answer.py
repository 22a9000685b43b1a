"""Asks for what the Overview shows: the whole cluster for the map, the filtered part for numbers and lists."""

from __future__ import annotations

from dataclasses import replace

from components.map_columns import DeviceKey
from components.overview import OverviewAnswer
from data.last_day import DayOfUse
from data.model import NodeFilter, Viewer
from data.queries.live import Overview, overview, snapshot
from data.sources import Sources
from data.totals import Totals
from pages._filters_asked import known_features
from pages._overview_address import Asked
from policy.queries import VerdictList


def answer(
    asked: Asked,
    viewer: Viewer,
    sources: Sources,
    *,
    now_href: str = "/",
    day: DayOfUse | None = None,
    judged: VerdictList | None = None,
    is_judging: bool = False,
) -> OverviewAnswer:
    """One consistent answer; `day` is the last day and `judged` are the verdicts where they are known. Raises
    SourceError when there is no picture at all."""
    found = _part(asked, viewer, sources)
    known = without_unknown(asked, found)
    if known.filter != asked.filter:
        found = _part(known, viewer, sources)
    whole = found.snapshot
    if known.filter != NodeFilter():
        whole = snapshot(viewer, sources, at=known.at)
    if whole.version != found.snapshot.version and known.at is None:
        found = _part(known, viewer, sources)
    return OverviewAnswer(
        snapshot=whole,
        overview=found,
        shown=shown_devices(known, found),
        chosen=known.chosen,
        ignored=known.ignored,
        is_staff=viewer.is_staff,
        version=asked.version(whole.version, day, judged),
        at=known.at.isoformat() if known.at else "",
        now_href=now_href,
        now=_now(known, viewer, sources),
        day=day,
        racks=sources.settings.racks,
        judged=() if judged is None else judged.verdicts,
        is_judging=is_judging,
        has_history=sources.settings.history.directory is not None,
    )


def _now(asked: Asked, viewer: Viewer, sources: Sources) -> Totals | None:
    """The present totals through the same filter, where a past moment is to be compared with them."""
    if asked.at is None or not asked.compare:
        return None
    return _part(replace(asked, at=None), viewer, sources).totals


def _part(asked: Asked, viewer: Viewer, sources: Sources) -> Overview:
    """The filtered part. A state is what the numbers count by: it dims the map and leaves the numbers whole."""
    return overview(viewer, sources, at=asked.at, filter=replace(asked.filter, gpu_states=frozenset()))


def without_unknown(asked: Asked, found: Overview) -> Asked:
    """Leave out, and name, what this cluster does not have. While no node is known, nothing is called unknown."""
    options = found.options
    if not options.partitions and not options.models:
        return asked
    have = {"partition": options.partitions, "model": options.models}
    unknown = [key for key, values in have.items() if asked.chosen[key] and asked.chosen[key] not in values]
    feature, no_feature = known_features(asked.feature, options.features)
    if not unknown and not no_feature:
        return asked
    said = [f"This cluster has no {key} “{asked.chosen[key][:40]}”." for key in unknown]
    return replace(
        asked,
        partition="" if "partition" in unknown else asked.partition,
        model="" if "model" in unknown else asked.model,
        feature=feature,
        ignored=(*asked.ignored, *said, *no_feature),
    )


def shown_devices(asked: Asked, found: Overview) -> frozenset[DeviceKey] | None:
    """The devices that every filter lets through, the state too; None = no filter is set."""
    if asked.filter == NodeFilter():
        return None
    gpus = found.snapshot.gpus
    return frozenset(gpu.device.key for gpu in gpus if asked.state in ("", gpu.state.value))
