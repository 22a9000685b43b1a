"""Fixtures that every test may use. Real services live in `tests/services`, started once per run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

# The whole check finds the same on every run; at the desk each run tries other examples.
settings.register_profile("check", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("desk", deadline=None, print_blob=True)
settings.load_profile("check" if os.environ.get("REQUIRE_SERVICES") == "1" else "desk")

# With several test processes, all tests of one service run in the same one: it is started once per run.
_SERVICE_OF_FIXTURE = {
    "slurm_cluster": "slurm",
    "prometheus_server": "slurm",
    "redis_url": "slurm",
    "postgres_port": "slurm",
    "web": "browser",
    "web_app": "browser",
    "chromium": "browser",
}

pytest_plugins: list[str] = [
    "tests.services.slurm",
    "tests.services.prometheus",
    "tests.services.redis",
    "tests.services.postgres",
    "tests.services.web",
]

REFERENCE = Path(__file__).resolve().parents[2] / "shared"


def service_missing(reason: str) -> NoReturn:
    """Skip for want of a service, visibly; with REQUIRE_SERVICES=1 fail instead."""
    if os.environ.get("REQUIRE_SERVICES") == "1":
        pytest.fail(f"a service is required here: {reason}")
    pytest.skip(f"service missing: {reason}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the process group of each test: that of its service, else its own file; before pytest-xdist reads it."""
    for item in items:
        fixtures: tuple[str, ...] = getattr(item, "fixturenames", ())
        services = [_SERVICE_OF_FIXTURE[name] for name in fixtures if name in _SERVICE_OF_FIXTURE]
        item.add_marker(pytest.mark.xdist_group(services[0] if services else item.path.name))


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference cases and real files beside the checkout; skips where it is absent."""
    if not (REFERENCE / "cases").is_dir():
        pytest.skip(f"no reference data at {REFERENCE}")
    return REFERENCE
