"""The commands where Slurm never answered: a clear error with exit code 2, and never a zero."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.ports import free_port

FULLWARP = str(Path(sys.executable).with_name("fullwarp"))


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    port = free_port()
    path = tmp_path / "fullwarp.toml"
    path.write_text(
        '[identity]\nkind = "unix"\nstaff_users = ["root"]\n[cache]\nkind = "memory"\n[metrics]\nkind = "none"\n'
        f'[slurm]\nkind = "rest"\nurl = "http://127.0.0.1:{port}"\ntimeout_seconds = 2\n'
    )
    return path


@pytest.mark.parametrize("command", ["status", "nodes", "jobs"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_cluster_that_is_not_known_is_an_error_and_no_zeros(settings: Path, command: str, form: list[str]) -> None:
    argv = [FULLWARP, "--config", str(settings), command, *form]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=settings.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Slurm does not answer" in done.stderr and "refused" in done.stderr
    assert "Traceback" not in done.stderr
