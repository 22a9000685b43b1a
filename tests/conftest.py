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

pytest_plugins: list[str] = [
    "tests.services.slurm",
    "tests.services.prometheus",
    "tests.services.redis",
    "tests.services.postgres",
    "tests.services.mail",
    "tests.services.web",
    "tests.services.whole_site",
    "tests.services.processes",
]

REFERENCE = Path(__file__).resolve().parents[2] / "shared"


def service_missing(reason: str) -> NoReturn:
    """Skip for want of a service, visibly; with REQUIRE_SERVICES=1 fail instead."""
    if os.environ.get("REQUIRE_SERVICES") == "1":
        pytest.fail(f"a service is required here: {reason}")
    pytest.skip(f"service missing: {reason}")


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference cases and real files beside the checkout; skips where it is absent."""
    if not (REFERENCE / "cases").is_dir():
        pytest.skip(f"no reference data at {REFERENCE}")
    return REFERENCE
