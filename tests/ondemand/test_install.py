"""The install script and what it lays out: the app is known to the users' web servers, and starts on any Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.passenger import ROOT

FOLDER = ROOT / "deploy" / "ondemand"
# What app_reset of Open OnDemand 4.2 does: it writes the file of every app that has one and prints its path.
STAGE = """#!/bin/sh
echo "$@" >> {folder}/asked
for file in {folder}/config/sys/*.conf; do echo "location for $file" > "$file"; echo "$file"; done
"""


def install_at(place: Path, stage: Path) -> subprocess.CompletedProcess[str]:
    ignored = shutil.ignore_patterns("public", "tmp", "__pycache__")
    shutil.copytree(FOLDER, place, ignore=ignored, dirs_exist_ok=True)
    (place / "ondemand.toml").touch()
    words = [place / "install", "--python", sys.executable, "--nginx-stage", stage]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    (tmp_path / "config" / "sys").mkdir(parents=True)
    (tmp_path / "config" / "sys" / "dashboard.conf").touch()
    made = tmp_path / "nginx_stage"
    made.write_text(STAGE.format(folder=tmp_path))
    made.chmod(0o755)
    return made


def test_the_script_makes_the_app_known_to_the_users_web_servers(tmp_path: Path, stage: Path) -> None:
    """Else the first who opens it, or a page with the widget, reads that the app has not been initialized."""
    found = install_at(tmp_path / "apps" / "sys" / "gpu", stage)
    assert found.returncode == 0 and "Restart Web Server" in found.stderr, found.stderr
    file = tmp_path / "config" / "sys" / "gpu.conf"
    assert file.read_text() == f"location for {file}\n"
    assert set((tmp_path / "asked").read_text().splitlines()) == {"app_reset --sub-uri=/pun"}
    again = install_at(tmp_path / "apps" / "sys" / "gpu", stage)
    assert again.returncode == 0 and "Restart Web Server" not in again.stderr


def test_under_selinux_the_files_get_the_labels_of_their_place(
    tmp_path: Path, stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open OnDemand's policy lets web servers and hook run what lies in an app's bin, and nothing else of an app."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "restorecon").write_text(f'#!/bin/sh\necho "$@" "$(ls bin/python)" > {tmp_path}/labelled\n')
    (tools / "restorecon").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    place = tmp_path / "apps" / "sys" / "gpu"
    assert install_at(place, stage).returncode == 0
    assert (tmp_path / "labelled").read_text() == f"-R {place} bin/python\n"
    assert all((place / "bin" / name).stat().st_mode & 0o100 for name in ("python", "token-hook"))


def test_a_folder_elsewhere_is_no_app_of_the_site(tmp_path: Path, stage: Path) -> None:
    assert install_at(tmp_path / "apps" / "dev" / "gpu", stage).returncode == 0
    assert not (tmp_path / "asked").exists()


def test_an_open_ondemand_that_does_not_take_the_app_is_named(tmp_path: Path, stage: Path) -> None:
    stage.write_text("#!/bin/sh\nexit 1\n")
    found = install_at(tmp_path / "apps" / "sys" / "gpu", stage)
    assert found.returncode == 0 and "did not take the app" in found.stderr


def test_the_script_says_what_it_cannot_do(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "install", tmp_path)
    for words, said in (
        (["--python", "bin/python"], "whole path"),
        (["--python", "/no/such/python"], "install Fullwarp first"),
        (["--python", "/usr/bin/env"], "no Fullwarp"),
        (["--server", "https://x/$(id)"], "not an address"),
        (["--what"], "not known"),
        (["--python"], "needs a path"),
        (["--nginx-stage"], "needs a path"),
    ):
        found = subprocess.run([tmp_path / "install", *words], capture_output=True, text=True, check=False, timeout=30)
        assert found.returncode == 2 and said in found.stderr, words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["install"]


def test_a_loader_that_wants_the_old_imp_runs_on_a_python_without_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("VALUE = 42")
    loader = tmp_path / "loader.py"
    loader.write_text("import imp, sys; sys.stdout.write(str(imp.load_source('app', sys.argv[1]).VALUE))")
    start = FOLDER / "bin" / "start.py"
    newer = f"""
import runpy, sys
sys.version_info = (3, 12, 0)
sys.argv = [{str(start)!r}, {str(loader)!r}, {str(tmp_path / "app.py")!r}]
sys.modules.pop("imp", None)
runpy.run_path(sys.argv[0], run_name="__main__")
assert not hasattr(sys.modules["imp"], "reload"), "the shim was not used"
"""
    words = [sys.executable, "-I", "-c", newer]
    found = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert (found.returncode, found.stdout) == (0, "42"), found.stderr
