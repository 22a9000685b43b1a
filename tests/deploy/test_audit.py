"""The audit of the pinned packages, against a database of known faults on a loopback port."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.services.ports import free_port

ROOT = Path(__file__).parents[2]
FAULT = {
    "id": "PYSEC-2099-1",
    "summary": "It leaks.",
    "aliases": [],
    "published": "2026-01-01T00:00:00Z",
    "modified": "2026-01-01T00:00:00Z",
    "affected": [
        {
            "package": {"name": "leaky", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
            "versions": ["1.0"],
        }
    ],
}


class Database(BaseHTTPRequestHandler):
    """Answers as OSV does: the faults of one package and version."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        has_fault = (asked["package"]["name"], asked["version"]) == ("leaky", "1.0")
        body = json.dumps({"vulns": [FAULT]} if has_fault else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Database)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/query"
    server.shutdown()
    server.server_close()


def audit(pins: Path, url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "PYTHON": sys.executable, "OSV_URL": url, **environment}
    return subprocess.run([ROOT / ".ci" / "audit", pins], env=given, capture_output=True, text=True, timeout=120)


def test_a_pin_with_a_known_fault_ends_the_check_and_is_named(database: str, tmp_path: Path) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("sound==2.0\nleaky==1.0\n")
    found = audit(pins, database)
    assert found.returncode == 1
    assert "leaky" in found.stdout and "PYSEC-2099-1" in found.stdout and "1.1" in found.stdout
    assert "sound" not in found.stdout


def test_our_own_pins_can_be_audited(database: str) -> None:
    found = audit(ROOT / "constraints.txt", database)
    assert (found.returncode, found.stdout.strip()) == (0, "audit: No known vulnerabilities found")


@pytest.mark.parametrize(("required", "code"), [("0", 0), ("1", 1)])
def test_a_database_that_cannot_be_reached_is_said(tmp_path: Path, required: str, code: int) -> None:
    pins = tmp_path / "pins.txt"
    pins.write_text("sound==2.0\n")
    found = audit(pins, f"http://127.0.0.1:{free_port()}/v1/query", REQUIRE_AUDIT=required)
    assert found.returncode == code
    assert "NOT DONE" in found.stderr


@pytest.mark.parametrize("pins", ["sound\n", "sound=2.0\n", None])
def test_pins_that_cannot_be_audited_end_the_check(database: str, tmp_path: Path, pins: str | None) -> None:
    if pins is not None:
        (tmp_path / "pins.txt").write_text(pins)
    found = audit(tmp_path / "pins.txt", database)
    assert found.returncode == 2 and found.stderr and "NOT DONE" not in found.stderr


def test_an_audit_that_is_not_installed_ends_the_check(database: str) -> None:
    found = audit(ROOT / "constraints.txt", database, PYTHON=f"{sys.base_prefix}/bin/python3")
    assert found.returncode == 2 and "pip_audit" in found.stderr
