"""Settings and sources that the tests of the assistant share."""

from __future__ import annotations

import pytest

from data.sources import Sources
from settings import Settings
from tests.chat.small_cluster import small_settings, small_sources


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return small_settings(tmp_path_factory.mktemp("assistant"))


@pytest.fixture(scope="session")
def sources(small: Settings) -> Sources:
    return small_sources(small)
