"""Files around the code that nothing else would miss until somebody needs them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ;]", requirement)[0].lower().replace("_", "-")


def dockerfile(instruction: str) -> list[str]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [line.removeprefix(instruction).strip() for line in lines if line.startswith(instruction + " ")]


def test_every_path_that_the_image_copies_exists_and_is_let_through() -> None:
    let_through = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    paths = [path for line in dockerfile("COPY") for path in line.split()[:-1]]
    assert [path for path in paths if not (ROOT / path).exists() or f"!{path}" not in let_through] == []


def test_the_image_holds_all_that_the_package_holds() -> None:
    copied = {path for line in dockerfile("COPY") for path in line.split()[:-1]}
    assert set(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]) - copied == set()


def test_the_image_runs_as_somebody_small_and_is_watched() -> None:
    assert dockerfile("USER")[-1] not in {"root", "0"}
    assert "/healthz" in " ".join(dockerfile("HEALTHCHECK"))
    assert not [line for line in dockerfile("ARG") + dockerfile("ENV") if re.search("(?i)secret|token|password", line)]


def test_every_dependency_has_an_exact_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9.-]+==[A-Za-z0-9.+-]+", line)] == []
    pinned = {line.split("==")[0] for line in lines}
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = {name_of(item) for group in [PROJECT["project"]["dependencies"], *extras] for item in group}
    assert wanted - pinned == set()


def test_nothing_is_installed_but_what_is_pinned_at_its_version() -> None:
    """The list that an audit reads is then the whole truth."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pinned = dict(line.split("==") for line in lines)
    installed = {name_of(one.metadata["Name"]).replace(".", "-"): one.version for one in distributions()}
    ours = {"fullwarp", "pip", "uv", "wheel"}
    assert {name: found for name, found in installed.items() if name not in ours and pinned.get(name) != found} == {}


def test_what_is_installed_fits_together() -> None:
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["uv", "pip"]
    more = [] if find_spec("pip") else ["--python", sys.executable]
    done = subprocess.run([*pip, "check", *more], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", ["demo", "test", "lint", "audit", "bench", "docs", "clean"])
def test_make_has_the_target(target: str) -> None:
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_links_between_documents_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_every_check_of_the_whole_run_can_be_run() -> None:
    assert [path.name for path in (ROOT / ".ci").iterdir() if not path.stat().st_mode & 0o100] == []
