"""The disk of the history is full while people read it, and is emptied again (whole_site)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import ATTEMPTS, RANGE
from tests.conftest import service_missing
from tests.queries.history.attempts import write
from tests.services.whole_site import FULLWARP, WholeSite


@pytest.fixture
def history(whole_site: WholeSite) -> Iterator[Path]:
    """The site's history on a small disk of its own."""
    folder = whole_site.folder / "history"
    folder.mkdir(mode=0o700, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0700", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        service_missing(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def collect(site: WholeSite) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FULLWARP_")}
    return subprocess.run(
        [FULLWARP, "--config", str(site.folder / "serve.toml"), "collect", "--since", "-1h"],
        env=environment | {"XDG_CACHE_HOME": str(site.folder / "cache-of-collector")},
        cwd=site.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def fill(folder: Path) -> Path:
    """Take the last byte of the disk."""
    filler = folder / "somebody-elses-file"
    with filler.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(b"x" * 4096)
        except OSError:
            pass
    return filler


def parquet(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_a_full_disk_loses_nothing_and_stops_no_page(whole_site: WholeSite, history: Path) -> None:
    def used() -> object:
        rows = whole_site.by_token(f"api/v1/reports/user?{RANGE}").json["answer"]["rows"]
        return [(row["key"], row["values"]["gpu_hours_allocated"]) for row in rows]

    write(history, ATTEMPTS)
    kept, filler = parquet(history), fill(history)
    with whole_site.viewers(paths=(f"efficiency?{RANGE}", "me", "health"), count=2, pause=0.2) as people:
        before = used()
        full = collect(whole_site)
        during = used()
        filler.unlink()
        again = collect(whole_site)
        people.rounds(5)
    assert full.returncode == 2 and "Traceback" not in full.stderr, full.stderr
    assert "No space left on device" in full.stderr
    assert again.returncode == 0, again.stderr
    assert before and before == during == used()
    assert {name: history.joinpath(name).read_bytes() for name in kept} == kept
    assert len(parquet(history)) > len(kept)
    assert set(people.statuses) == {200}, people.statuses
