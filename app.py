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

from components.shell import NavEntry, low_mark, shell
from data.errors import FullwarpError
from data.model import Viewer
from data.queries.day import DayKeeper
from identity import Unidentified, is_listed, is_trusted_sender, request_viewer
from pages._answers import Answers
from pages._frame import connect_frame, known_verdicts
from pages._http.bundle import ICON, Bundles, serve_bundles
from pages._http.callbacks import refuse_odd_callbacks
from pages._http.gate import WARM_UP_KEY, WARM_UP_TOKEN, close_gate
from pages._http.headers import add_headers
from pages._http.health import add_health_routes
from pages._http.index import app_entry, index_string
from pages._http.limits import limit_bodies, limit_rates
from pages._http.not_found import explain_unknown_files, set_not_found_status
from pages._http.origin import require_own_origin
from pages._http.refusals import explain_failures
from pages._http.statics import serve_from_memory
from pages._http.watching import watch_requests
from pages._request import KEY, Backing, backing, viewer
from policy.keeping import VerdictKeeper

if TYPE_CHECKING:
    from api.bearer import Bearers
    from api.self_metrics import SelfMetrics
    from data.sources import Sources
    from settings import Settings

METRICS_KEY = "FULLWARP_METRICS"
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
    from pages._chat_routes import add_chat
    from pages._first_view import first_view
    from pages._gpu_line import add_gpu_line
    from pages._search import add_search

    prefix = settings.serve.url_prefix
    server = Flask("fullwarp", static_folder=None)
    server.debug = False  # whatever FLASK_DEBUG says
    add_backing(server, settings, sources)
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
    _without_dev_tools(app)
    app.layout = functools.partial(_layout, settings)
    app.bundles = serve_bundles(server, prefix, HERE / "assets")
    app.first_view = functools.partial(first_view, functools.partial(_frame, settings))
    refuse_odd_callbacks(server, prefix, lambda: app.callback_map)
    connect_frame(app)
    add_search(server, prefix)
    add_gpu_line(server, prefix)
    add_chat(server, prefix)
    _add_api(server, settings)
    add_headers(app, [theme], settings.exposure.frame_ancestors)
    serve_from_memory(server, prefix)
    set_not_found_status(server, prefix)
    return app


def _without_dev_tools(app: Dash) -> None:
    """Whatever DASH_* variables say: each of these would come from the environment if it were not given."""
    app.enable_dev_tools(
        debug=False,
        dev_tools_ui=False,
        dev_tools_props_check=False,
        dev_tools_serve_dev_bundles=False,
        dev_tools_hot_reload=False,
        dev_tools_prune_errors=False,
        dev_tools_validate_callbacks=False,
        dev_tools_silence_routes_logging=False,
        dev_tools_disable_version_check=True,
    )


def _keep_what_is_shown(err: Exception) -> None:
    """A tick whose question has no answer now (a source fails, Slurm forgot the job) leaves the page to age."""
    if isinstance(err, FullwarpError):
        log.info("no answer to a callback: %s", err)
        raise PreventUpdate from err
    raise err


def add_backing(server: Flask, settings: Settings, sources: Sources | None) -> None:
    """What the routes of a server stand on, and what counts them."""
    from api.self_metrics import SelfMetrics

    def requests() -> dict[str, int]:
        return {} if own.opened is None else own.opened.requests

    metrics = server.config[METRICS_KEY] = SelfMetrics(product_version(), requests)
    own = server.config[KEY] = Backing(settings, sources, Answers.of(server, metrics.looked_up))


def open_settings(app: Dash) -> None:
    """Open the sources that the app's settings name, and give them to it."""
    from data.sources import open_sources

    metrics: SelfMetrics = app.server.config[METRICS_KEY]
    open_app(app, open_sources(backing(app.server).settings, refreshed=metrics.refreshed))


def open_app(app: Dash, sources: Sources) -> None:
    """Give a closed app its sources; for each worker after the fork."""
    own = backing(app.server)
    own.opened, own.answers = sources, Answers.of(app.server, app.server.config[METRICS_KEY].looked_up)
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
    """In this order: count, refuse what is too large, let nobody pass without identity, then what others may not do.
    Nothing that Dash adds is reached before them."""
    from api.bearer import Bearers
    from api.rates import Rates

    prefix, identity = settings.serve.url_prefix, settings.identity
    bearers = Bearers(settings, lambda: datetime.now(UTC))
    watch_requests(
        server,
        prefix,
        settings.logs.request_id_header,
        lambda request: is_trusted_sender(request.environ, identity),
        server.config[METRICS_KEY],
    )
    explain_failures(server)
    explain_unknown_files(server)
    limit_bodies(server, settings.exposure.max_body_bytes)
    close_gate(server, prefix, functools.partial(_viewer_of, settings, bearers, backing(server)))
    require_own_origin(server, settings.exposure.origins, bearers.is_sent)
    rates = Rates(settings.exposure.requests_per_minute, settings.serve.workers, settings.cache, name="pages")
    limit_rates(server, prefix, rates.wait_seconds)
    _add_health(server, settings, bearers)


def _viewer_of(settings: Settings, bearers: Bearers, own: Backing, request: Request) -> Viewer | None:
    """Who asks; None, with the reason in the log, where nobody may be believed."""
    from api.routes import BY_TOKEN

    try:
        if bearers.is_sent(request):
            setattr(g, BY_TOKEN, True)
            return bearers.viewer(request, own.associations())
        return request_viewer(request.environ, settings.identity, own.associations())
    except Unidentified as err:
        claims = settings.identity.user_header in request.headers
        level = logging.WARNING if claims else logging.INFO
        log.log(level, "401 %s: %s%s", request.path, err, "; the name that was sent is ignored" if claims else "")
        return None


def _add_health(server: Flask, settings: Settings, bearers: Bearers) -> None:
    own, metrics = backing(server), server.config[METRICS_KEY]
    listed = settings.exposure.scrape_addresses

    def may_watch(request: Request) -> bool:
        return is_listed(request.environ, listed, settings.identity) or bearers.may_scrape(request)

    def is_ready() -> bool:
        """A picture is there, however the sources are: then no viewer waits for the first one."""
        if own.opened is None:
            return False
        own.opened.live.begin()
        return own.opened.live.known is not None

    def text() -> bytes:
        picture = None if own.opened is None else own.opened.live.known
        found: bytes = metrics.text(picture, datetime.now(UTC))
        return found

    add_health_routes(server, settings.serve.url_prefix, may_watch, is_ready, text)


def _add_api(server: Flask, settings: Settings) -> None:
    from api.rates import Rates
    from api.routes import Standing, add_api

    own = backing(server)
    rates = Rates(settings.api.requests_per_minute, settings.serve.workers, settings.cache)
    add_api(server, Standing(settings.serve.url_prefix, product_version(), rates, lambda: own.sources))


def _layout(settings: Settings) -> Component:
    return _frame(settings, dash.page_container)


def _frame(settings: Settings, page: Any, here: str = "") -> Component:
    return shell(
        [
            NavEntry(
                page["name"],
                page["relative_path"],
                page["icon"],
                page["relative_path"] == here,
                low_mark(known_verdicts()) if page["path"] == "/policy" else None,
            )
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

    app = create_app(load_settings().settings)
    open_settings(app)
    warm_up(app)
    collect_seldom()
    server: Flask = app.server
    return server
