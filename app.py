"""Composes the web app: pages, identity and HTTP around them. Computes nothing; importing it talks to no source."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dash
from dash import Dash
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from flask import Flask, Request, g

from components.shell import NavEntry, shell
from data.errors import FullwarpError
from data.model import Viewer
from data.queries.day import DayKeeper
from identity import Unidentified, request_viewer
from pages._answers import Answers
from pages._frame import connect_frame
from pages._http.bundle import ICON, Bundles, serve_bundles
from pages._http.gate import WARM_UP_KEY, WARM_UP_TOKEN, close_gate
from pages._http.headers import add_headers
from pages._http.health import add_health_routes
from pages._http.index import app_entry, index_string
from pages._http.not_found import set_not_found_status
from pages._http.statics import serve_from_memory
from pages._request import KEY, Backing, backing, viewer
from policy.keeping import VerdictKeeper

if TYPE_CHECKING:
    from data.sources import Sources
    from settings import Settings

HERE = Path(__file__).resolve().parent
log = logging.getLogger(__name__)


class FullwarpDash(Dash):  # type: ignore[misc]  # dash counts as untyped
    """Dash with the first view in its index page, so that nobody waits for scripts, and with few files to load."""

    bundles: Bundles
    first_view: Callable[[], str]

    def interpolate_index(self, **parts: Any) -> str:
        parts |= {"app_entry": app_entry(self.first_view()), "css": self.bundles.style_tag(), "favicon": ICON}
        parts["scripts"] = self.bundles.script_tags(parts["scripts"])
        return str(super().interpolate_index(**parts))


def create_app(settings: Settings, sources: Sources | None = None) -> Dash:
    """The app. Without `sources` it starts closed: give them later with `open_app` (after a fork)."""
    from pages._first_view import first_view
    from pages._gpu_line import add_gpu_line
    from pages._search import add_search

    prefix = settings.serve.url_prefix
    server = Flask("fullwarp", static_folder=None)
    server.config[KEY] = Backing(settings, sources, Answers.of(server))
    _before_pages(server, settings)
    theme = (HERE / "assets" / "head" / "theme.js").read_text(encoding="utf-8")
    app = FullwarpDash(
        name="app",
        server=server,
        use_pages=True,
        pages_folder=str(HERE / "pages"),
        assets_folder=str(HERE / "assets"),
        assets_ignore=r".*",
        requests_pathname_prefix=prefix,
        routes_pathname_prefix=prefix,
        index_string=index_string(theme),
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        include_pages_meta=False,
        title="Fullwarp",
        update_title="",
        suppress_callback_exceptions=True,
        add_log_handler=False,
        on_error=_keep_what_is_shown,
    )
    app.layout = functools.partial(_layout, settings)
    app.bundles = serve_bundles(server, prefix, HERE / "assets")
    app.first_view = functools.partial(first_view, functools.partial(_frame, settings))
    connect_frame(app)
    add_search(server, prefix)
    add_gpu_line(server, prefix)
    _add_api(server, settings)
    add_headers(app, [theme])
    serve_from_memory(server, prefix)
    set_not_found_status(server, prefix)
    return app


def _keep_what_is_shown(err: Exception) -> None:
    """A tick whose question has no answer now (a source fails, Slurm forgot the job) leaves the page to age."""
    if isinstance(err, FullwarpError):
        log.info("no answer to a callback: %s", err)
        raise PreventUpdate from err
    raise err


def open_app(app: Dash, sources: Sources) -> None:
    """Give a closed app its sources; for each worker after the fork."""
    own = backing(app.server)
    own.opened, own.answers = sources, Answers.of(app.server)
    own.day, own.verdicts = DayKeeper(), VerdictKeeper()
    if sources.demo_history is not None:
        sources.demo_history.start()


def warm_up(app: Dash) -> None:
    """Let Dash do its first-request work before there are threads to race for it; once open, history does its own."""
    client = app.server.test_client()
    prefix = app.config.requests_pathname_prefix
    for path in ("", "_dash-layout", "_dash-dependencies"):
        response = client.get(prefix + path, environ_overrides={WARM_UP_KEY: WARM_UP_TOKEN})
        if response.status_code != 200:
            raise RuntimeError(f"warm-up of /{path} answered {response.status_code}")
    own = backing(app.server)
    if own.settings.history.directory is not None:
        # Reports load it when they are first asked; half loaded in one thread, it breaks the JSON of all others.
        importlib.import_module("pandas")
    if own.opened is not None:
        from pages._efficiency_answer import ask_ahead

        ask_ahead(own.opened)


def _before_pages(server: Flask, settings: Settings) -> None:
    """The gate comes first, so that nothing that Dash adds is reached without identity."""
    from api.bearer import Bearers
    from api.routes import BY_TOKEN

    prefix = settings.serve.url_prefix
    own = backing(server)
    bearers = Bearers(settings, lambda: datetime.now(UTC))

    def viewer_of(request: Request) -> Viewer | None:
        try:
            if bearers.is_sent(request):
                setattr(g, BY_TOKEN, True)
                return bearers.viewer(request, own.associations())
            return request_viewer(request.environ, settings.identity, own.associations())
        except Unidentified as err:
            log.info("401 %s: %s", request.path, err)
            return None

    close_gate(server, prefix, viewer_of)
    add_health_routes(server, prefix, lambda: own.opened is not None)


def _add_api(server: Flask, settings: Settings) -> None:
    from api.rates import Rates
    from api.routes import Standing, add_api

    own, is_shared = backing(server), settings.cache.kind == "redis"
    redis_url = settings.cache.redis_url.get_secret_value() if is_shared else ""
    rates = Rates(settings.api.requests_per_minute, settings.serve.workers, redis_url)
    add_api(server, Standing(settings.serve.url_prefix, product_version(), rates, lambda: own.sources))


def _layout(settings: Settings) -> Component:
    return _frame(settings, dash.page_container)


def _frame(settings: Settings, page: Any, here: str = "") -> Component:
    return shell(
        [
            NavEntry(page["name"], page["relative_path"], page["icon"], page["relative_path"] == here)
            for page in dash.page_registry.values()
            if page.get("icon")
        ],
        viewer(),
        settings.cluster,
        product_version(),
        page,
    )


def product_version() -> str:
    """The installed version; "development" from a checkout that is not installed."""
    try:
        return version("fullwarp")
    except PackageNotFoundError:
        return "development"


def __getattr__(name: str) -> Any:
    """`server` for WSGI servers that are pointed at this module: built when first asked for."""
    if name != "server":
        raise AttributeError(name)
    return _server()


@functools.cache
def _server() -> Flask:
    from data.collection import collect_seldom
    from data.settings_file import load_settings
    from data.sources import open_sources

    settings = load_settings().settings
    app = create_app(settings, open_sources(settings))
    warm_up(app)
    collect_seldom()
    server: Flask = app.server
    return server
