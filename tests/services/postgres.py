"""A PostgreSQL of our own, started once per run on a free loopback port, as an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import service_missing
from tests.services.ports import free_port, is_listening

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))


@pytest.fixture(scope="session")
def postgres_port() -> Iterator[int]:
    """The port of a server on 127.0.0.1, user `fullwarp` without a password; databases fullwarp,
    fullwarp_state and fullwarp_enforced."""
    if not _FOLDERS:
        service_missing("postgresql is not installed")
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="fullwarp-pg-"))
    data, port = folder / "data", free_port()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    _run(user, "initdb", "-D", str(data), "-U", "fullwarp", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    settings = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    server = subprocess.Popen(
        [str(_FOLDERS[-1] / "postgres"), "-D", str(data), *settings.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        **_as(user),
    )
    try:
        if not is_listening(port, server):
            service_missing("postgres did not start")
        for database in ("fullwarp", "fullwarp_state", "fullwarp_enforced"):
            _run(user, "createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "fullwarp", database)
        yield port
    finally:
        server.terminate()
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> pwd.struct_passwd | None:
    """PostgreSQL does not run as root."""
    return pwd.getpwnam("nobody") if os.getuid() == 0 else None


def _as(user: pwd.struct_passwd | None) -> dict[str, object]:
    return {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(user: pwd.struct_passwd | None, program: str, *arguments: str) -> None:
    command = [str(_FOLDERS[-1] / program), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/", **_as(user), check=False)
    if found.returncode:
        service_missing(f"{program}: {found.stderr[-300:]}")
