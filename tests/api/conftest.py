"""The routes of the API behind the real gate, without the pages: in front of two clusters that stand still."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import _add_api, _before_pages, add_backing
from data.model import Role
from data.sources import Sources, open_sources
from data.state.store import open_store
from data.state.tokens import create_token
from settings import (
    ApiSettings,
    CacheSettings,
    DemoSettings,
    HistorySettings,
    IdentityKind,
    IdentitySettings,
    MetricsKind,
    MetricsSettings,
    ServeSettings,
    Settings,
    SlurmKind,
    SlurmSettings,
    StateSettings,
)
from tests.queries.cluster import open_fakes
from tests.queries.history.attempts import COLLECTED, Attempt, write

STAFF, USER = "sam", "alice"
BASE = "/warp/api/v1/"
RANGE = "since=2026-03-02T00:00&until=2026-03-03T00:00"
ATTEMPTS = (
    Attempt(1, 0, 10, gpus=2, used=0.9, findings=("small_kernels",)),
    Attempt(90210, 0, 5, gpus=4, user="mallory", account="chemistry", name="secret-run", findings=("idle",)),
    Attempt(3, 20, None, gpus=1, until=30, used=0.0, idle=1.0, wait=None),
    Attempt(4, 6, 7, gpus=2, used=None, account="law", path=("law",)),
)


def settings_for(history: Path | None = None, state: Path | None = None, per_minute: int = 0) -> Settings:
    return Settings(
        site_timezone="Europe/Berlin",
        slurm=SlurmSettings(kind=SlurmKind.SIMULATED),
        metrics=MetricsSettings(kind=MetricsKind.SIMULATED),
        identity=IdentitySettings(kind=IdentityKind.HEADER, trust_loopback=True, staff_users=[STAFF]),
        serve=ServeSettings(url_prefix="/warp/", workers=1),
        cache=CacheSettings(kind="memory"),
        history=HistorySettings(directory=history),
        demo=DemoSettings(history_days=0),
        state=StateSettings(directory=state),
        api=ApiSettings(requests_per_minute=per_minute),
    )


def server_of(settings: Settings, sources: Sources | None) -> Flask:
    server = Flask("fullwarp", static_folder=None)
    add_backing(server, settings, sources)
    _before_pages(server, settings)
    _add_api(server, settings)
    return server


def with_a_store(folder: Path, user: str, role: Role) -> tuple[Flask, dict[str, str]]:
    """A server of the small cluster with a store of its own, and the header of a token."""
    settings = settings_for(state=folder / "state")
    store = open_store(settings.state, writes=True)
    assert store is not None
    now = datetime.now(UTC)
    _, sent = create_token(store, user, role, now, now + timedelta(days=1))
    server = server_of(settings, replace(open_fakes(), settings=settings))
    return server, {"Authorization": f"Bearer {sent}"}


def named(user: str) -> dict[str, str]:
    return {"X-Remote-User": user}


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("api") / "history", ATTEMPTS)


@pytest.fixture(scope="session")
def demo_server(past: Path) -> Flask:
    """The simulated cluster at a moment that does not move."""
    settings = settings_for(past)
    return server_of(settings, open_sources(settings, clock=lambda: COLLECTED))


@pytest.fixture(scope="session")
def demo(demo_server: Flask) -> FlaskClient:
    return demo_server.test_client()


@pytest.fixture(scope="session")
def people_server(past: Path) -> Flask:
    """A small cluster on which mallory has secrets."""
    settings = settings_for(past)
    return server_of(settings, replace(open_fakes(), settings=settings, clock=lambda: COLLECTED))


@pytest.fixture(scope="session")
def people(people_server: Flask) -> FlaskClient:
    return people_server.test_client()
