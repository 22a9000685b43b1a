"""What the Overview costs: the first view in Chromium, and a refresh on the server, at a number of nodes."""

from __future__ import annotations

import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import orjson
from werkzeug.serving import WSGIRequestHandler, make_server

from app import create_app, open_app, warm_up
from bench.snapshots import SEED, Clock
from data.model import Role, Viewer
from data.settings_file import demo_settings
from data.sources import Sources, open_sources
from pages._request import backing
from settings import Settings

DEMO, LARGE = 52, 1000
TIMES = 5
# The paint that shows data: the first frame after a cell of the map is in the page.
_WATCH = """
new MutationObserver(() => {
  if (!window.benchSeen && document.querySelector('.fw-map .fw-cell'))
    requestAnimationFrame(() => { window.benchSeen = window.benchSeen || performance.now(); });
}).observe(document, {childList: true, subtree: true});
"""
_READ = """() => ({
  painted: (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime,
  seen: window.benchSeen,
  ready: (performance.getEntriesByName('fw-ready')[0] || {}).startTime,
  sizes: performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
    .map(entry => entry.transferSize),
})"""
Row = dict[str, float | int | str]


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Nothing: the report is the only output."""


def overview(nodes: int) -> Row:
    """First view and refresh at `nodes` GPU nodes of the simulated cluster, from a warm snapshot."""
    settings = demo_settings("")
    sources = _sources(settings, nodes)
    app = create_app(settings)
    open_app(app, sources)
    warm_up(app)
    _wait_for_day(app, sources)
    devices = len(sources.live.snapshot().gpus)
    row: Row = {"nodes": nodes, "devices": devices, **_refreshes(app, sources)}
    return row | (_first_views(app) if chromium() else {"browser": "chromium-headless-shell is not installed"})


def chromium() -> str | None:
    """The browser, where one is installed."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def _wait_for_day(app: Any, sources: Sources) -> None:
    """The last day is added up beside everything else, once in ten minutes: it is not part of a refresh."""
    until = time.perf_counter() + 300
    while backing(app.server).day.last_day(Viewer("bench", Role.STAFF), sources) is None:
        if time.perf_counter() > until:
            raise TimeoutError("the last day was not there within five minutes")
        time.sleep(0.05)


def _sources(settings: Settings, nodes: int) -> Sources:
    """The simulated sources at another size, with one picture that stays."""
    from data.metrics.simulated import SimulatedMetrics
    from data.simulation import World
    from data.slurm.simulated import SimulatedScheduler

    world, clock = World(SEED, nodes), Clock()
    opened = open_sources(settings)
    scheduler, metrics = SimulatedScheduler(world, clock), SimulatedMetrics(world, clock)
    live: Any = _Still(scheduler, metrics, clock)
    return replace(opened, scheduler=scheduler, metrics=metrics, live=live)


class _Still:
    """Shows one picture under a new version whenever told: a refresh without the sources' own time."""

    is_ready = True

    def __init__(self, scheduler: Any, metrics: Any, clock: Clock) -> None:
        from data.cache import MemoryCache
        from data.live import LiveCluster

        live = LiveCluster(scheduler, metrics, MemoryCache(), clock, limits=(120.0, 120.0), patience_seconds=120.0)
        self._shown = live.snapshot()
        self.version = 1

    def snapshot(self) -> Any:
        return replace(self._shown, version=str(self.version))

    def associations(self) -> tuple[Any, ...]:
        return ()


def _refreshes(app: Any, sources: Sources) -> Row:
    """Server milliseconds and compressed bytes of one tick that brings a new picture, and of one that brings none."""
    client, live = app.server.test_client(), sources.live
    seen, times, sizes, idle = "", [], [], []
    computing = time.thread_time()
    for _ in range(TIMES):
        live.version += 1  # type: ignore[attr-defined]
        took, answer = _tick(client, seen)
        times.append(took)
        sizes.append(len(answer.data))
        seen = orjson.loads(_plain(answer))["response"]["overview-version"]["data"]
        idle.append(_tick(client, seen)[0])
    return {
        "refresh_ms": round(statistics.median(times), 1),
        "refresh_bytes": round(statistics.median(sizes)),
        "refresh_cpu_ms": round((time.thread_time() - computing) * 1000 / TIMES, 1),
        "no_news_ms": round(statistics.median(idle), 1),
    }


def _plain(answer: Any) -> bytes:
    import brotli

    return bytes(brotli.decompress(answer.data)) if answer.headers.get("Content-Encoding") == "br" else answer.data


def _tick(client: Any, seen: str) -> tuple[float, Any]:
    rows = client.application.config["TICK"] if "TICK" in client.application.config else _question(client)
    client.application.config["TICK"] = rows
    state = [{"id": "overview-version", "property": "data", "value": seen}]
    begun = time.perf_counter()
    answer = client.post("/_dash-update-component", json={**rows, "state": state}, headers={"Accept-Encoding": "br"})
    return (time.perf_counter() - begun) * 1000, answer


def _question(client: Any) -> dict[str, Any]:
    """The page's tick as the browser would post it."""
    known = orjson.loads(client.get("/_dash-dependencies").data)
    tick = next(one for one in known if "overview-version.data" in one["output"])
    outputs = [part.rsplit(".", 1) for part in tick["output"].strip(".").split("...")]
    return {
        "output": tick["output"],
        "outputs": [{"id": id, "property": name} for id, name in outputs],
        "inputs": [{"id": one["id"], "property": one["property"], "value": None} for one in tick["inputs"]],
        "changedPropIds": ["overview-tick.n_intervals"],
    }


@contextmanager
def _served(app: Any) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app.server, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        server.shutdown()
        thread.join(10)


def _first_views(app: Any) -> Row:
    """The median of a few cold loads: empty browser cache, warm server."""
    from playwright.sync_api import sync_playwright

    with _served(app) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        views = [_first_view(browser, url) for _ in range(TIMES + 1)][1:]
        browser.close()
    return {key: round(statistics.median(view[key] for view in views), 1) for key in views[0]}


def _first_view(browser: Any, url: str) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(url)
    page.wait_for_selector("#gpu-map .fw-cell", timeout=60_000)
    page.wait_for_timeout(300)
    read = page.evaluate(_READ)
    context.close()
    return {
        "first_paint_ms": read["painted"],
        "data_visible_ms": max(read["seen"], read["painted"]),
        "usable_ms": read["ready"],
        "requests": len(read["sizes"]),
        "bytes": sum(read["sizes"]),
    }
