"""The app's style sheet and scripts, each one file named by its content. The web server in front sends them.

`python -m ondemand.files FOLDER` writes them; the install script does so.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from data.errors import SettingsError

OWN = Path(__file__).resolve().parent / "assets"
SHARED = Path(__file__).resolve().parent.parent / "assets"
STYLES = (
    "00-tokens",
    "05-icons",
    "06-icons-jobs",
    "10-base",
    "20-shell",
    "30-panels",
    "35-chips",
    "45-jobs",
    "46-job",
    "50-print",
    "80-policy",
    "90-chat",
)
SCRIPTS = ("04-make", "10-time", "51-job-charts", "52-copy")
PATTERNS = {"style": "fullwarp-*.css", "script": "fullwarp-*.js", "theme": "theme-*.js", "ask": "ask-*.js"}


@dataclass(frozen=True, slots=True)
class Files:
    """Names below the app's address."""

    style: str
    script: str
    theme: str
    ask: str


def write_files(folder: Path) -> Files:
    """Write the files of this version and remove those of others."""
    made = {
        "style": _joined([_bootstrap(), *(SHARED / "css" / f"{name}.css" for name in STYLES), OWN / "ondemand.css"]),
        "script": _joined([*(SHARED / "js" / f"{name}.js" for name in SCRIPTS), OWN / "ondemand.js"], b"\n;\n"),
        "theme": _joined([OWN / "theme.js"]),
        "ask": _joined([*sorted((SHARED / "js" / "chat").glob("*.js")), OWN / "ask.js"], b"\n;\n"),
    }
    folder.mkdir(exist_ok=True)
    names = {kind: PATTERNS[kind].replace("*", _mark(body)) for kind, body in made.items()}
    for kind, body in made.items():
        for old in folder.glob(PATTERNS[kind]):
            old.unlink()
        (folder / names[kind]).write_bytes(body)
        (folder / names[kind]).chmod(0o644)
    return Files(**names)


def find_files(folder: Path) -> Files:
    """The files that were written. Raises SettingsError where one is missing."""
    found = {kind: sorted(folder.glob(pattern)) for kind, pattern in PATTERNS.items()}
    missing = [PATTERNS[kind] for kind, files in found.items() if not files]
    if missing:
        raise SettingsError(f"{folder} has no {missing[0]}", hint="The cluster staff run the app's install script.")
    return Files(**{kind: files[-1].name for kind, files in found.items()})


def _bootstrap() -> Path:
    """Found beside the package without importing it: its import loads a form library."""
    from importlib.util import find_spec

    spec = find_spec("flask_bootstrap")
    if spec is None or spec.origin is None:
        raise SettingsError("bootstrap-flask is not installed", hint="Install Fullwarp with what it needs.")
    return Path(spec.origin).parent / "static" / "bootstrap5" / "css" / "bootstrap.min.css"


def _joined(paths: Iterable[Path], between: bytes = b"\n") -> bytes:
    return between.join(path.read_bytes() for path in paths)


def _mark(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=6).hexdigest()


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
