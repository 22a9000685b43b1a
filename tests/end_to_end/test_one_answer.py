"""One question, several surfaces, one answer: the query, the terminal and the page of one fixed moment."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from components.overview_kpis import overview_kpis
from data.model import Role, Viewer
from data.queries.live import Overview, overview
from data.settings_file import demo_settings
from data.sources import Sources, open_sources
from data.words import number
from pages._overview_address import parse_address
from pages._overview_answer import answer

MOMENT = datetime(2026, 11, 24, 10, 47, 13, tzinfo=UTC)
WRITTEN = "2026-11-24T10:47:13Z"
FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
STAFF = Viewer("root", Role.STAFF)


@pytest.fixture(scope="module")
def sources() -> Sources:
    return open_sources(demo_settings())


@pytest.fixture(scope="module")
def asked(sources: Sources) -> Overview:
    return overview(STAFF, sources, at=MOMENT)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("here")
    command = [FULLWARP, "--demo", "status", "--json", "--at", WRITTEN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True, cwd=folder)
    return json.loads(done.stdout)


def test_the_terminal_prints_the_querys_numbers(asked: Overview, printed: Any) -> None:
    use, said = asked.totals.use, printed["totals"]["use"]
    for name in ("total", "busy", "idle", "unmeasured", "free", "drained", "down", "shared"):
        assert said["gpus"][name] == getattr(use.gpus, name)
        assert said["slices"][name] == getattr(use.slices, name)
        assert said["weighted"][name] == pytest.approx(getattr(use.weighted, name))
    assert said["utilization"] == pytest.approx(use.utilization)
    assert said["power_watts"] == pytest.approx(use.power_watts)
    assert printed["totals"]["queue"] == {
        name: getattr(asked.totals.queue, name)
        for name in ("running", "suspended", "pending", "gpus_requested", "requests_unknown")
    }
    assert {row["name"]: row["nodes"] for row in printed["totals"]["by_partition"]} == {
        row.name: row.nodes for row in asked.totals.by_partition
    }


def test_the_page_shows_the_same_numbers(asked: Overview, sources: Sources, printed: Any) -> None:
    address = parse_address({"at": WRITTEN}, datetime.now(UTC), "UTC")
    shown = answer(address, STAFF, sources)
    assert shown.overview.totals == asked.totals
    cells = {cell.label: cell.value for cell in overview_kpis(shown.overview.totals)}
    gpus = printed["totals"]["use"]["gpus"]
    assert cells["GPUs allocated"] == number(gpus["busy"] + gpus["idle"] + gpus["unmeasured"])
    assert cells["Busy"] == number(gpus["busy"])
    assert cells["Held, idle"] == number(gpus["idle"])
    assert cells["Free"] == number(gpus["free"])
    assert cells["Down or drained"] == number(gpus["down"] + gpus["drained"])
    assert gpus["busy"] > 100 and gpus["idle"] > 0 and gpus["total"] == 42 * 8 + 8 * 4


def test_the_states_of_the_snapshots_gpus_add_up_to_the_totals(asked: Overview) -> None:
    counted: dict[str, int] = {}
    for gpu in asked.snapshot.gpus:
        if not gpu.device.is_slice:
            counted[gpu.state.value] = counted.get(gpu.state.value, 0) + 1
    gpus = asked.totals.use.gpus
    assert counted.get("busy", 0) == gpus.busy
    assert counted.get("idle", 0) == gpus.idle
    assert sum(counted.values()) == gpus.total
