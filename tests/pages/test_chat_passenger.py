"""The whole app under real Apache and Passenger, which serves one request at a time, at a sub-path, as a plain user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from pages._chat_routes import HEADER, HEADER_VALUE
from tests.services import passenger

NAME = f"fwchat{os.getpid()}"
APP = """
import os
os.environ["FULLWARP_CACHE__DIRECTORY"] = {cache!r}
os.environ["FULLWARP_DEMO__HISTORY_DAYS"] = "0"
os.environ["FULLWARP_SERVE__URL_PREFIX"] = {base!r}
from app import create_app, open_app, warm_up
from data.settings_file import demo_settings
from data.sources import open_sources
settings = demo_settings()
made = create_app(settings)
open_app(made, open_sources(settings))
warm_up(made)

def application(environ, start_response):
    environ["PATH_INFO"], environ["SCRIPT_NAME"] = environ["SCRIPT_NAME"] + environ["PATH_INFO"], ""
    return made.server(environ, start_response)
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    passenger._require()
    folder = Path(tempfile.mkdtemp(prefix="fullwarp-chat-"))
    folder.chmod(0o755)
    subprocess.run(["useradd", "-M", "-U", "-d", str(folder / "home"), NAME], check=True, capture_output=True)
    try:
        for name in ("home", "cache"):
            (folder / name).mkdir(mode=0o700)
            shutil.chown(folder / name, NAME, NAME)
        with passenger._apache(folder, _app(folder), NAME) as base:
            yield base
    finally:
        subprocess.run(["userdel", NAME], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _app(folder: Path) -> Path:
    app = folder / "app"
    for name in ("bin", "public", "tmp"):
        (app / name).mkdir(parents=True)
    shutil.copy(passenger.ROOT / "deploy/ondemand/bin/start.py", app / "bin" / "start.py")
    python = app / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {passenger._interpreter(folder)} -I "{app}/bin/start.py" "$@"\n')
    python.chmod(0o755)
    text = APP.format(cache=str(folder / "cache"), base=passenger.BASE)
    (app / "passenger_wsgi.py").write_text(text)
    return app


def test_an_answer_comes_in_short_requests_and_leaves_the_server_to_others(url: str) -> None:
    headers = {HEADER: HEADER_VALUE}
    begun = requests.post(f"{url}_chat/ask", json={"question": "/status"}, headers=headers, timeout=60)
    assert begun.headers["Content-Type"] == "application/json", begun.text
    events: list[dict[str, Any]] = []
    took: list[float] = []
    until = time.monotonic() + 60
    while time.monotonic() < until and not (events and events[-1]["kind"] == "ended"):
        asked = {"turn": begun.json()["turn"], "seen": str(len(events))}
        found = requests.get(f"{url}_chat/events", params=asked, timeout=30)
        took.append(found.elapsed.total_seconds())
        events += found.json()["events"]
        assert requests.get(f"{url}healthz", timeout=30).text == "ok"
    kinds = [one["kind"] for one in events]
    assert kinds[0] == "begun" and "card" in kinds and kinds[-1] == "ended"
    assert events[-1]["failure"] == "" and f"{passenger.BASE}" in str(events)
    assert sorted(took)[len(took) // 2] < 2
