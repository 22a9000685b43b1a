"""Which test process runs which file (pytest -n 2): each real service is started in one of them, once per run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("slurm_cluster", "prometheus_server", "redis_url", "postgres_port", "whole_site")


@cache
def group_of(file: str) -> str:
    """The tests of the browser and of Open OnDemand together, those that name another service together, every other
    file by itself."""
    for folder in ("browser", "ondemand"):
        if file.startswith(f"tests/{folder}/"):
            return folder
    text = (ROOT / file).read_text(encoding="utf-8")
    return "services" if any(name in text for name in SERVICES) else file


class ByService(LoadScopeScheduling):
    """pytest-xdist's groups by mark need a node id that pytest 9 no longer takes; this asks for the file alone."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByService:
    return ByService(config, log)
