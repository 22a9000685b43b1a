"""The Overview's finished answers: parts for a refresh, the whole page, and the page as HTML for the first view."""

from __future__ import annotations

from typing import Any

import dash
import orjson

from components.as_html import as_html
from components.map_still import map_still
from components.overview import OverviewAnswer, Parts, overview_page, overview_parts
from data.last_day import DayOfUse
from data.model import Viewer
from data.queries.day_before import day_before
from pages._answers import scope_of
from pages._frame import framed
from pages._overview_address import Asked
from pages._overview_answer import answer
from pages._request import backing
from policy.queries import VerdictList


def version_of(asked: Asked, viewer: Viewer) -> str:
    """The version that an answer would have now, without making it. Raises SourceError without a picture."""
    live = backing().sources.live
    shown = live.snapshot() if asked.at is None else live.at(asked.at)
    return asked.version(shown.version, day_of(asked, viewer), judged_of(asked, viewer))


def day_of(asked: Asked, viewer: Viewer) -> DayOfUse | None:
    """The last day; of a past moment the one before it, as the history has it."""
    own = backing()
    return day_before(viewer, own.sources, asked.at) if asked.at else own.day.last_day(viewer, own.sources)


def judged_of(asked: Asked, viewer: Viewer) -> VerdictList | None:
    """The verdicts that are known, beside the present only."""
    own = backing()
    return None if asked.at else own.verdicts.newest(viewer, own.sources)


def finished_parts(asked: Asked, viewer: Viewer) -> Parts:
    """Every part of the page as JSON. Raises SourceError when there is no picture at all."""

    def make() -> tuple[bytes, ...]:
        return tuple(_json(part) for part in _parts(_found(asked, viewer)))

    key = ("overview parts", version_of(asked, viewer), scope_of(viewer), repr(asked))
    return Parts(*(orjson.Fragment(part) for part in backing().finished(key, make)))


def finished_page(asked: Asked, viewer: Viewer) -> Any:
    """The whole page as JSON. Raises SourceError when there is no picture at all."""

    def make() -> tuple[bytes, ...]:
        found, refresh = _found(asked, viewer), backing().settings.refresh_seconds
        page = overview_page(found, asked.metric, asked.group, refresh_seconds=refresh, parts=_parts(found))
        return (_json(page),)

    key = ("overview page", version_of(asked, viewer), scope_of(viewer), repr(asked))
    return orjson.Fragment(backing().finished(key, make)[0])


def page_html(asked: Asked, viewer: Viewer) -> tuple[str, dict[str, str]]:
    """The page as HTML, and what the frame shows beside it, by id. Raises SourceError without a picture."""

    def make() -> tuple[bytes, ...]:
        found = _found(asked, viewer)
        parts = overview_parts(found)
        cells = map_still(parts.map, asked.metric, asked.group)
        page = overview_page(found, asked.metric, asked.group, refresh_seconds=1, parts=parts)
        frame = {"as-of": "as_of", "source-count": "sources", "cluster": "cluster"}
        shown = (as_html(parts.frame[key]) for key in frame.values())
        return tuple(text.encode() for text in (as_html(page, {"gpu-map": cells}), *shown))

    page, *frame = backing().finished(("overview html", version_of(asked, viewer), scope_of(viewer), repr(asked)), make)
    return page.decode(), dict(zip(("as-of", "source-count", "cluster"), map(bytes.decode, frame), strict=True))


def _found(asked: Asked, viewer: Viewer) -> OverviewAnswer:
    own = backing()
    return answer(
        asked,
        viewer,
        own.sources,
        now_href=dash.get_relative_path("/"),
        day=day_of(asked, viewer),
        judged=judged_of(asked, viewer),
        is_judging=asked.at is None and own.verdicts.is_making,
    )


def _parts(found: OverviewAnswer) -> Parts:
    return framed(overview_parts(found))


def _json(part: Any) -> bytes:
    return orjson.dumps(part, default=_component, option=orjson.OPT_NON_STR_KEYS)


def _component(part: Any) -> Any:
    return part.to_plotly_json()
