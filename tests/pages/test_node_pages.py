"""The pages of nodes and of health: addresses read, callbacks as functions, nobody named."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import dash
import pytest
from flask import g

from data.model import Role, SourceCondition, Viewer
from pages._node_address import parse_node_address
from pages._nodes_address import answer, parse_nodes_address
from tests.components.snapshots import NOON, job, node, snapshot, source
from tests.live.builders import FakeMetrics
from tests.services.web import sources_of

SAM, EVE = Viewer("sam", Role.STAFF), Viewer("eve", Role.USER)
ZONE = "Europe/Berlin"
HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'"


def opened(shown: Any) -> Any:
    return replace(sources_of(shown), metrics=FakeMetrics())


@pytest.mark.parametrize(
    ("query", "count", "said"),
    [
        ({}, 2, ""),
        ({"state": "idle"}, 2, ""),
        ({"state": "down"}, 0, ""),
        ({"state": "sleepy"}, 2, "sleepy"),
        ({"partition": "h100", "q": "H002"}, 1, ""),
        ({"partition": "nowhere"}, 2, "nowhere"),
        ({"model": "x" * 300}, 2, "x" * 40),
        ({"feature": "*"}, 2, ""),
        ({"feature": "||++"}, 2, "names no feature"),
        ({"view": "cube"}, 2, "cube"),
        ({"at": "tomorrow"}, 2, "tomorrow"),
    ],
)
def test_filters_of_the_address(query: dict[str, str], count: int, said: str) -> None:
    found = answer(parse_nodes_address(query, NOON, ZONE), SAM, opened(snapshot()), "/nodes")
    assert len(found.view.list.rows) == count
    assert (said in " ".join(found.ignored)) if said else found.ignored == ()


@pytest.mark.parametrize(
    ("query", "hours", "said"),
    [
        ({}, 6, ""),
        ({"range": "1h"}, 1, ""),
        ({"range": "2y"}, 6, "2y"),
        ({"metric": "luck"}, 6, "luck"),
        ({"from": "-3h"}, 3, ""),
        ({"from": "2026-03-01T10:00", "to": "2026-03-01T12:00"}, 2, ""),
        ({"from": "2026-03-02", "to": "2026-03-01"}, 6, "empty"),
        ({"from": "-90d"}, 6, "longer than 31 days"),
        ({"to": "-1h"}, 6, "empty"),
        ({"from": "soon"}, 6, "soon"),
    ],
)
def test_the_span_of_the_series(query: dict[str, str], hours: float, said: str) -> None:
    asked = parse_node_address("h001", query, NOON, ZONE)
    assert asked.window(NOON).seconds == hours * 3600
    assert (said in " ".join(asked.ignored)) if said else asked.ignored == ()


def test_a_span_up_to_now_is_the_same_for_half_a_minute() -> None:
    asked = parse_node_address("h001", {"range": "24h"}, NOON, ZONE)
    assert asked.window(NOON) == asked.window(NOON + timedelta(seconds=25))


def test_a_past_moment_ends_the_series() -> None:
    asked = parse_node_address("h001", {"at": "2026-03-01T14:00"}, NOON, ZONE)
    assert asked.window(NOON).end.isoformat() == "2026-03-01T13:00:00+00:00"


def called(web_app: Any, viewer: Viewer, shown: Any, call: str, *given: Any) -> Any:
    from app import open_app
    from pages import health, node, nodes

    open_app(web_app, opened(shown))
    with web_app.server.test_request_context("/warp/"):
        g.fullwarp_viewer = viewer
        found = {"nodes": nodes.refresh_nodes, "node": node.refresh_node, "health": health.refresh_health}[call]
        return found(1, *given)


NODES = (None, None, None, None, "")
NODE = ("gpu_utilization", "6h", None, "h001")


@pytest.mark.parametrize(("call", "given"), [("nodes", NODES), ("node", NODE), ("health", ())])
def test_a_tick_without_news_changes_nothing(web_app: Any, call: str, given: tuple[Any, ...]) -> None:
    first = called(web_app, SAM, snapshot(), call, *given, "", "")
    with pytest.raises(dash.exceptions.PreventUpdate):
        called(web_app, SAM, snapshot(), call, *given, first.version, "")
    assert called(web_app, SAM, snapshot(version="2"), call, *given, first.version, "").version != first.version


@pytest.mark.parametrize(("call", "given"), [("nodes", NODES), ("node", NODE), ("health", ())])
def test_a_user_gets_no_name_no_address_and_no_error_text(web_app: Any, call: str, given: tuple[Any, ...]) -> None:
    failing = source(
        "metrics", SourceCondition.DOWN, address="http://prom.secret:9090", error="refused", broken_examples=("row",)
    )
    drained = node("h001", reason="bad fan", reason_user="operator")
    shown = snapshot(sources=(source("slurm"), failing), nodes=(drained, node("h002")))
    said = repr(called(web_app, EVE, shown, call, *given, "", ""))
    assert not [
        word for word in ("alice", "nlp", "48211", "train", "prom.secret", "refused", "operator") if word in said
    ]


def test_staff_read_who_drained_a_node_and_why(web_app: Any) -> None:
    shown = snapshot(nodes=(node("h001", reason="bad fan", reason_user="operator", reason_time=NOON),))
    said = repr(called(web_app, SAM, shown, "node", *NODE, "", ""))
    assert "bad fan" in said and "operator" in said


def test_a_node_that_is_gone_leaves_the_page_as_it_is(web_app: Any) -> None:
    with pytest.raises(dash.exceptions.PreventUpdate):
        called(web_app, SAM, snapshot(), "node", "gpu_utilization", "6h", None, "h999", "", "")


def test_another_metric_is_another_version(web_app: Any) -> None:
    first = called(web_app, SAM, snapshot(), "node", *NODE, "", "")
    other = called(web_app, SAM, snapshot(), "node", "power_watts", "6h", None, "h001", first.version, "")
    assert other.series_note.startswith("0 to 100 W")


def test_a_span_that_was_drawn_with_the_mouse_is_used(web_app: Any) -> None:
    span = {"from": (NOON - timedelta(hours=2)).isoformat(), "to": NOON.isoformat()}
    found = called(web_app, SAM, snapshot(), "node", "gpu_utilization", "", span, "h001", "", "")
    assert "2 h" in found.series_note


@pytest.mark.parametrize("viewer", [SAM, EVE])
def test_hostile_names_pass_as_text(web_app: Any, viewer: Viewer) -> None:
    shown = snapshot(
        nodes=(node(HOSTILE, reason=HOSTILE, partitions=(HOSTILE,), features=(HOSTILE,)), node("")),
        gpus=(),
        jobs=(job(1, user=HOSTILE, name=HOSTILE, nodes=(HOSTILE,)),),
    )
    rows = called(web_app, viewer, shown, "nodes", HOSTILE, None, None, HOSTILE, HOSTILE, "", "").rows
    assert [row["name"] for row in rows] == [HOSTILE]
    head = called(web_app, viewer, shown, "node", "gpu_utilization", "6h", None, HOSTILE, "", "").head
    assert head[1].children[0].children == HOSTILE


def layout_of(web_app: Any, module: str, shown: Any, **query: str) -> str:
    from importlib import import_module

    from app import open_app

    open_app(web_app, opened(shown))
    with web_app.server.test_request_context("/warp/"):
        g.fullwarp_viewer = EVE
        return repr(import_module(f"pages.{module}").layout(**query).to_plotly_json())


def test_an_unknown_node_is_a_friendly_page(web_app: Any) -> None:
    said = layout_of(web_app, "node", snapshot(), name="h01")
    assert "There is no node" in said and "h001" in said


def test_an_encoded_name_finds_its_node(web_app: Any) -> None:
    assert "There is no node" not in layout_of(web_app, "node", snapshot(nodes=(node("a b"),)), name="a%20b")


@pytest.mark.parametrize("module", ["nodes", "node", "health"])
def test_every_page_stands_with_every_source_down(web_app: Any, module: str) -> None:
    down = (source("slurm", SourceCondition.DOWN), source("metrics", SourceCondition.DOWN))
    shown = snapshot(nodes=(), gpus=(), jobs=(), sources=down)
    assert layout_of(web_app, module, shown, **({"name": "h001"} if module == "node" else {}))
