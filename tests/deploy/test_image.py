"""The image without a container engine: the Dockerfile's own steps in a fresh tree, its entry point and health check
as its own user, read-only but for one tmpfs."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import service_missing

ROOT = Path(__file__).resolve().parents[2]
SECRET = "0123456789abcdef0123456789abcdef"
SETTINGS = """
[slurm]
kind = "simulated"
[metrics]
kind = "simulated"
[identity]
secret_file = "{etc}/proxy-secret"
[serve]
url_prefix = "/fullwarp/"
"""


def all_steps() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    words = (line.partition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return [(instruction, rest.strip()) for instruction, _, rest in words]


def steps(instruction: str) -> list[str]:
    return [rest for word, rest in all_steps() if word == instruction]


def in_brackets(line: str) -> list[str]:
    return list(json.loads(line[line.index("[") :]))


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """What the image holds after its steps; what they would download is taken from this environment."""
    with tempfile.TemporaryDirectory(prefix="fullwarp-image-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        _take_steps(folder)
        etc = folder / "etc"
        etc.mkdir()
        (etc / "proxy-secret").write_text(SECRET)
        (etc / "fullwarp.toml").write_text(SETTINGS.format(etc=etc))
        subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
        yield folder


def _take_steps(folder: Path) -> None:
    source = folder / "src"
    source.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "image")], check=True)
    _lend_packages(folder)
    for instruction, line in all_steps():
        if instruction == "COPY":
            *paths, target = line.split()
            for path in paths:
                _copy(ROOT / path, source / target / (path if target == "./" else ""))
        elif instruction == "RUN" and line.startswith("pip install"):
            _install(line, folder, source)
    shutil.rmtree(source)


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(path, target)


def _lend_packages(folder: Path) -> None:
    """All packages of this environment but ours, so that installing finds every requirement met."""
    own = Path(next(path for path in sys.path if path.endswith("site-packages")))
    lent, image = folder / "lent", next((folder / "image").glob("lib/python*/site-packages"))
    lent.mkdir()
    for item in own.iterdir():
        if not re.match(r"_?fullwarp|__editable__|__pycache__", item.name) and item.suffix != ".pth":
            (lent / item.name).symlink_to(item)
    (image / "lent.pth").write_text(str(lent))


def _install(line: str, folder: Path, source: Path) -> None:
    """The RUN line up to its &&, with the pip of this environment."""
    python = str(folder / "image" / "bin" / "python")
    words = shlex.split(line.split("&&")[0])
    command = [sys.executable, "-m", "pip", "--python", python] if find_spec("pip") else ["uv", "pip"]
    more = [] if find_spec("pip") else ["--python", python]
    done = subprocess.run([*command, *words[1:], *more, "-q"], cwd=source, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Downloading" not in done.stdout or "hatchling" in done.stdout


@pytest.fixture(scope="module")
def seen(tree: Path) -> Any:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True).returncode:
        service_missing("namespaces cannot be made here (it takes root)")
    pairs = (pair.partition("=") for line in steps("ENV") for pair in shlex.split(line))
    path = f"{tree}/image/bin:/usr/bin:/bin"
    asked = {
        "tree": str(tree),
        "python": sys.base_prefix,
        "command": [*in_brackets(steps("ENTRYPOINT")[0]), *in_brackets(steps("CMD")[0])],
        "health": in_brackets(steps("HEALTHCHECK")[0]),
        "headers": {"X-Remote-User": "alice", "X-Fullwarp-Secret": SECRET},
        "environment": {name: value for name, _, value in pairs}
        | {"PATH": path, "HOME": "/var/lib/fullwarp", "FULLWARP_CONFIG": f"{tree}/etc/fullwarp.toml"},
    }
    script = ["unshare", "--mount", "--net", "--fork", sys.executable, str(Path(__file__).with_name("in_image.py"))]
    done = subprocess.run([*script, json.dumps(asked)], capture_output=True, text=True, timeout=120, cwd="/")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_entry_point_runs_as_nobody_with_one_tmpfs(seen: Any) -> None:
    assert "failed" not in seen, seen
    assert seen["uids"] == ["10001"] * 4 and int(seen["capabilities"], 16) == 0
    assert seen["elsewhere"] == []
    assert (seen["page"], seen["is_overview"], seen["ended"]) == (200, True, 0)


def test_its_health_check_finds_it_well(seen: Any) -> None:
    assert seen["health"] == 0


def test_nothing_of_the_source_is_left_but_what_was_installed(tree: Path) -> None:
    found = next((tree / "image").glob("lib/python*/site-packages"))
    assert (found / "cli.py").is_file() and (found / "assets" / "css").is_dir()
    assert not (found / "tests").exists() and not (tree / "src").exists()
