"""The web app on a loopback port, started once per run, and a Chromium to look at it with."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from werkzeug.serving import make_server

from app import create_app, open_app, warm_up
from data.model import Association, ClusterSnapshot, Viewer
from data.queries.day import DayKeeper
from data.sources import Sources
from pages._request import backing
from policy.keeping import VerdictKeeper
from settings import ApiSettings, ExposureSettings, IdentityKind, IdentitySettings, ServeSettings, Settings
from tests.conftest import service_missing

STAFF, USER = "sam", "alice"
PREFIX = "/warp/"
WAIT_MS = 60_000  # for a machine that runs other tests, too


class FixedLive:
    """Stands where the live picture stands, and shows one snapshot. Counts how often it was asked."""

    def __init__(self, shown: ClusterSnapshot) -> None:
        self.shown = shown
        self.asked = 0
        self.is_ready = True
        self.known: Any = SimpleNamespace(snapshot=shown)

    def snapshot(self) -> ClusterSnapshot:
        self.asked += 1
        return self.shown

    def begin(self) -> None:
        """There is a picture already."""

    def at(self, moment: datetime) -> ClusterSnapshot:
        return replace(self.shown, time=moment, is_past=True, unknown=("Reasons of drains are not known.",))

    def associations(self) -> tuple[Association, ...]:
        return ()


def sources_of(shown: ClusterSnapshot) -> Sources:
    """What the pages take as sources, with one snapshot behind it."""
    live: Any = FixedLive(shown)
    nobody: Any = SimpleNamespace(requests=0)
    return Sources(Settings(), nobody, nobody, live, lambda: shown.made_at)


class NoDay(DayKeeper):
    """The last day never comes, so that nothing changes by itself."""

    def last_day(self, viewer: Viewer, sources: Sources) -> None:
        return None


class NoVerdicts(VerdictKeeper):
    """Nothing is judged behind a test's back."""

    def newest(self, viewer: Viewer, sources: Sources) -> None:
        return None


def open_still(app: Any, sources: Sources) -> None:
    """Open the app with sources behind which nothing moves."""
    open_app(app, sources)
    own = backing(app.server)
    own.day, own.verdicts = NoDay(), NoVerdicts()


@dataclass
class Web:
    """`url` ends with the prefix. `show` swaps what the sources say."""

    url: str
    app: Any

    def show(self, shown: ClusterSnapshot) -> FixedLive:
        sources = sources_of(shown)
        open_still(self.app, sources)
        live: Any = sources.live
        return live


def header_settings() -> Settings:
    identity = IdentitySettings(
        kind=IdentityKind.HEADER,
        trust_loopback=True,
        staff_users=[STAFF],
        group_header="X-Remote-Groups",
        staff_groups=["hpc-staff"],
    )
    # One app for a whole run, and every test of it is the same few users.
    unhurried = {"api": ApiSettings(requests_per_minute=0), "exposure": ExposureSettings(requests_per_minute=0)}
    return Settings(identity=identity, serve=ServeSettings(url_prefix=PREFIX), refresh_seconds=5, **unhurried)


@pytest.fixture(scope="session")
def web_app() -> Any:
    """The app behind a header that names the user, under a prefix, warmed up while closed."""
    app = create_app(header_settings())
    warm_up(app)
    return app


@pytest.fixture(scope="session")
def web(web_app: Any) -> Iterator[Web]:
    server = make_server("127.0.0.1", 0, web_app.server, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Web(f"http://127.0.0.1:{server.port}{PREFIX}", web_app)
    server.shutdown()
    thread.join(10)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    # The whole browser draws a window of its own for each context, which costs seven times the work.
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        service_missing("chromium-headless-shell is not installed")
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
