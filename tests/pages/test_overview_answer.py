"""What the Overview asks for: the address read, filters applied, one version for one view."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import dash
import orjson
import pytest
from flask import g

from components.overview import overview_parts
from data.model import GpuState, Role, SourceCondition, Viewer
from pages._overview_address import parse_address
from pages._overview_answer import answer
from tests.components.snapshots import NOON, gpu, job, node, snapshot, source
from tests.components.test_overview_parts import words
from tests.services.web import open_still, sources_of

SAM = Viewer("sam", Role.STAFF)
EVE = Viewer("eve", Role.USER)


def asked(**query: str) -> Any:
    return parse_address(query, NOON, "Europe/Berlin")


def test_an_empty_address_asks_for_everything() -> None:
    found = answer(asked(), SAM, sources_of(snapshot()))
    assert found.shown is None and found.ignored == ()
    assert found.overview.totals.use.gpus.total == 16


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"state": "sleepy"}, "sleepy"),
        ({"metric": "luck"}, "luck"),
        ({"group": "<b>"}, "<b>"),
        ({"at": "tomorrow"}, "tomorrow"),
        ({"at": "2027-01-01"}, "future"),
        ({"partition": "nowhere"}, "nowhere"),
        ({"model": "x" * 300}, "x" * 40),
        ({"feature": "none-such"}, "none-such"),
        ({"feature": "none-such|+"}, "none-such"),
    ],
)
def test_what_cannot_be_used_is_named_and_ignored(query: dict[str, str], named: str) -> None:
    found = answer(asked(**query), SAM, sources_of(snapshot()))
    assert found.shown is None and len(found.ignored) == 1 and named in found.ignored[0]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"state": "idle"}, 1),
        ({"state": "*"}, None),
        ({"partition": "h100"}, 16),
        ({"q": "H002"}, 8),
        ({"q": "nothing has this"}, 0),
        ({"q": "h002", "state": "free"}, 2),
        ({"feature": "h100"}, 16),
        ({"feature": "h100+ib"}, 8),
        ({"feature": "h100|ib"}, 16),
        ({"feature": "ib gone"}, 8),
    ],
)
def test_filters_say_which_devices_stay_bright(query: dict[str, str], count: int | None) -> None:
    nodes = (node("h001", features=("h100", "ib")), node("h002"))
    shown = answer(asked(**query), SAM, sources_of(snapshot(nodes=nodes))).shown
    assert (None if shown is None else len(shown)) == count


def test_a_state_dims_the_map_and_leaves_the_numbers_whole() -> None:
    found = answer(asked(state="idle"), SAM, sources_of(snapshot()))
    assert found.overview.totals.use.gpus.total == 16 and len(found.snapshot.gpus) == 16


def test_other_filters_narrow_the_numbers_and_never_the_map() -> None:
    found = answer(asked(q="h001"), SAM, sources_of(snapshot()))
    assert found.overview.totals.use.gpus.total == 8 and len(found.snapshot.gpus) == 16


@pytest.mark.parametrize("query", [{}, {"model": "A100"}])
def test_of_a_chosen_model_a_job_holds_no_fewer_gpus_than_are_idle(query: dict[str, str]) -> None:
    idle = [gpu("h001", place, GpuState.IDLE, 0.0, job_ids=(7,)) for place in range(2)]
    gpus = (*idle, replace(gpu("h002", 0, GpuState.IDLE, 0.0, job_ids=(7,)), model="A100"))
    shown = snapshot(gpus=gpus, jobs=(job(7, nodes=("h001", "h002")),))
    parts = overview_parts(answer(asked(**query), SAM, sources_of(shown)))
    assert words(parts.attention[0]).replace(" ", "").count("3of3GPUs") == 1


def test_while_no_node_is_known_no_filter_is_called_unknown() -> None:
    found = answer(asked(partition="h100"), SAM, sources_of(snapshot(nodes=(), gpus=(), jobs=())))
    assert found.ignored == ()


def test_the_version_changes_with_picture_and_filter_alone() -> None:
    versions = [
        answer(asked(**query), SAM, sources_of(shown)).version
        for query, shown in [({}, snapshot()), ({}, snapshot()), ({"q": "h"}, snapshot()), ({}, snapshot(version="2"))]
    ]
    assert versions[0] == versions[1] and len(set(versions)) == 3


def test_the_past_is_asked_in_the_sites_time_zone() -> None:
    found = answer(asked(at="2026-03-01T14:00"), SAM, sources_of(snapshot()))
    assert found.snapshot.is_past and found.at == "2026-03-01T13:00:00+00:00"


def test_a_user_sees_no_other_peoples_ids_and_no_addresses() -> None:
    failing = source("metrics", SourceCondition.DOWN, address="http://prom:9090", error="refused")
    shown = snapshot(sources=(failing,))
    found = answer(asked(), EVE, sources_of(shown))
    assert {job_id for item in found.snapshot.gpus for job_id in item.job_ids} == set()
    assert "prom" not in repr(found) and "alice" not in repr(found)
    assert "prom" in repr(answer(asked(), SAM, sources_of(shown)))


def refreshed(web_app: Any, viewer: Viewer, *given: str | None, at: str = "", compare: str = "") -> Any:
    from pages.overview import refresh

    with web_app.server.test_request_context("/warp/"):
        g.fullwarp_viewer = viewer
        parts = refresh(1, *given[:-1], at, compare, given[-1])
        return type(parts)(*orjson.loads(orjson.dumps(list(parts))))


def test_a_tick_without_news_changes_nothing(web_app: Any) -> None:
    open_still(web_app, sources_of(snapshot()))
    first = refreshed(web_app, SAM, None, None, None, None, None, "")
    with pytest.raises(dash.exceptions.PreventUpdate):
        refreshed(web_app, SAM, None, None, None, None, None, first.version)
    with pytest.raises(dash.exceptions.PreventUpdate):
        refreshed(web_app, SAM, "*", "*", "*", "*", "", first.version)


def test_a_new_picture_or_filter_replaces_every_part(web_app: Any) -> None:
    open_still(web_app, sources_of(snapshot()))
    first = refreshed(web_app, SAM, None, None, None, None, None, "")
    narrowed = refreshed(web_app, SAM, None, "idle", None, None, None, first.version)
    assert sum(narrowed.map["gpus"]["out"]) == 15
    open_still(web_app, sources_of(snapshot(version="2", gpus=(gpu("h001", 0, GpuState.DOWN),))))
    assert refreshed(web_app, SAM, None, None, None, None, None, first.version).map["nodes"]["mark"] == ["down"]


def test_hostile_names_pass_as_text(web_app: Any) -> None:
    name = "<img src=x onerror=alert(1)>\u202e\"'"
    shown = snapshot(
        nodes=(node(name, reason=name, partitions=(name,), features=(name,)),),
        gpus=(gpu(name, 0, model=name, job_ids=(1,)),),
        jobs=(job(1, user=name, name=name),),
        cluster=name,
    )
    open_still(web_app, sources_of(shown))
    parts = refreshed(web_app, SAM, name, None, name, name, name, "")
    assert parts.map["nodes"]["name"] == [name] and parts.map["gpus"]["user"] == [name]


def test_an_old_reading_loses_its_values_and_a_stale_one_is_marked(web_app: Any) -> None:
    from components.map_payload import map_payload

    stale = (source("slurm"), source("metrics", SourceCondition.STALE))
    recent = snapshot(sources=stale, metrics_time=NOON - timedelta(minutes=7))
    old = replace(recent, metrics_time=NOON - timedelta(minutes=16))
    assert map_payload(recent)["stale"] and map_payload(recent)["values"]["gpu_utilization"][0] == 900
    assert set(map_payload(old)["values"]["gpu_utilization"]) == {None}
