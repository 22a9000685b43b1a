"""Every live page as staff and as a user, of odd clusters: empty, tiny, without GPUs, down, with hostile names."""

from __future__ import annotations

import importlib
from datetime import timedelta
from typing import Any

import orjson
import pytest
from flask import g

from app import open_app
from data.cache import MemoryCache
from data.errors import SourceUnreachable
from data.live import LiveCluster
from data.model import Role, Viewer
from data.sources import NoMetrics, Sources
from settings import Settings
from tests.live.builders import NOW, FakeMetrics, FakeScheduler, make_job, make_node, measure
from tests.services.web import PREFIX

HOSTILE = "<script>window.hit=1</script>\"'\u202e\u05d0" + "x" * 200
REFUSED = SourceUnreachable("refused")
PAGES = [
    ("overview", {}),
    ("nodes", {}),
    ("node", {"name": "gpu01"}),
    ("jobs", {}),
    ("jobs", {"show": "pending"}),
    ("jobs", {"show": "finished"}),
    ("job", {"job_id": "100"}),
    ("me", {}),
    ("user", {"user": "alice"}),
    ("health", {}),
    ("policy", {}),
    ("policy", {"job": "100", "status": "low"}),
    ("efficiency", {}),
    ("metrics", {}),
    ("metrics", {"source": "live", "by": "job"}),
    ("not_found_404", {}),
]


def hostile() -> FakeScheduler:
    nodes = [make_node(HOSTILE, reason=HOSTILE, features=(HOSTILE,), partitions=(HOSTILE,)), make_node("")]
    names: dict[str, Any] = {"name": HOSTILE, "account": HOSTILE, "partition": HOSTILE, "user": "alice"}
    return FakeScheduler(nodes, [make_job(100, HOSTILE, **names), make_job(101, "", name="", user="", account="")])


CLUSTERS: dict[str, Any] = {
    "no nodes": lambda: (FakeScheduler(), FakeMetrics()),
    "no jobs": lambda: (FakeScheduler([make_node()]), FakeMetrics([measure()])),
    "one GPU": lambda: (FakeScheduler([make_node(pools={"h100": 1})], [make_job()]), FakeMetrics([measure()])),
    "CPU nodes only": lambda: (FakeScheduler([make_node(pools={})], [make_job(gpus=0)]), FakeMetrics()),
    "no metrics server": lambda: (FakeScheduler([make_node()], [make_job()]), NoMetrics()),
    "Slurm down": lambda: (FakeScheduler(fault=REFUSED), FakeMetrics([measure()])),
    "metrics down": lambda: (FakeScheduler([make_node()], [make_job()]), FakeMetrics(fault=REFUSED)),
    "all down": lambda: (FakeScheduler(fault=REFUSED), FakeMetrics(fault=REFUSED)),
    "hostile names": lambda: (hostile(), FakeMetrics([measure(HOSTILE)])),
    "runaway": lambda: (FakeScheduler([make_node()], accounted=[make_job(9)]), FakeMetrics()),
}


def text_of(page: Any) -> str:
    """A page as text; the Overview is JSON already."""
    return orjson.dumps(page).decode() if isinstance(page, orjson.Fragment) else repr(page)


@pytest.mark.parametrize("name", list(CLUSTERS))
def test_every_page_stands(web_app: Any, name: str) -> None:
    scheduler, metrics = CLUSTERS[name]()
    live = LiveCluster(scheduler, metrics, MemoryCache(), lambda: NOW, limits=(2.0, 2.0))
    open_app(web_app, Sources(Settings(), scheduler, metrics, live, lambda: NOW))
    for viewer in (Viewer("sam", Role.STAFF), Viewer("alice", Role.USER), Viewer("eve", Role.USER)):
        for module, query in PAGES:
            with web_app.server.test_request_context(PREFIX):
                g.fullwarp_viewer = viewer
                page = importlib.import_module(f"pages.{module}").layout(**query)
            assert "h1" in text_of(page).lower()


@pytest.mark.parametrize("name", ["no nodes", "one GPU", "all down"])
@pytest.mark.parametrize("module", ["overview", "nodes", "node", "jobs", "me", "health", "policy"])
def test_an_impossible_moment_is_named_and_the_page_is_of_now(web_app: Any, name: str, module: str) -> None:
    scheduler, metrics = CLUSTERS[name]()
    live = LiveCluster(scheduler, metrics, MemoryCache(), lambda: NOW, limits=(2.0, 2.0))
    open_app(web_app, Sources(Settings(), scheduler, metrics, live, lambda: NOW))
    future = (NOW + timedelta(days=400)).isoformat()
    for at in ("tomorrow", future, "\u0665", "x" * 300):
        with web_app.server.test_request_context(PREFIX):
            g.fullwarp_viewer = Viewer("sam", Role.STAFF)
            query = {"name": "gpu01"} if module == "node" else {}
            page = importlib.import_module(f"pages.{module}").layout(at=at, **query)
        text = text_of(page)
        assert "address was ignored" in text or "fw-state" in text


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        ("job", ["Jobs"]),
        ("overveiw", ["Overview"]),
        ("helth", ["Health"]),
        ("qqqq", []),
        ("", []),
        ("<script>" * 90, []),
    ],
)
def test_a_mistyped_address_finds_the_page(web_app: Any, wanted: str, pages: list[str]) -> None:
    from pages.not_found_404 import last_part, nearest_pages

    assert [found.name for found in nearest_pages(wanted)][:1] == pages
    assert last_part(f"/warp/x/{wanted}/") == (wanted[:100] or "x")


def test_the_friendly_page_names_what_was_perhaps_meant(web_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pages import not_found_404

    scheduler, metrics = CLUSTERS["one GPU"]()
    live = LiveCluster(scheduler, metrics, MemoryCache(), lambda: NOW, limits=(2.0, 2.0))
    open_app(web_app, Sources(Settings(), scheduler, metrics, live, lambda: NOW))
    for asked, who, seen in (("/warp/gpu01", "eve", True), ("/warp/100", "alice", True), ("/warp/100", "eve", False)):
        monkeypatch.setattr(not_found_404, "_asked", lambda asked=asked: asked)
        with web_app.server.test_request_context(PREFIX):
            g.fullwarp_viewer = Viewer(who, Role.USER)
            text = repr(not_found_404.layout())
        assert ("Did you mean" in text) is seen and "There is no such page" in text
