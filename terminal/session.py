"""What a command stands on: the settings that count, the sources, and who asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from data.errors import SettingsError, SourceError
from data.model import Association, Viewer
from data.moment import parse_moment
from data.settings_file import LoadedSettings, demo_settings, load_settings
from data.sources import Sources, open_sources
from identity import Unidentified, demo_viewer, unix_viewer
from settings import IdentityKind, Settings

TERMINAL_FILE = """For the terminal use a settings file (owned by root) with
  [identity]
  kind = "unix"
and give the server one of its own: fullwarp --config FILE serve. Without a cluster: fullwarp --demo."""


@dataclass(frozen=True, slots=True)
class View:
    """What a command that reads stands on. `at` None = now; `ignored` was given in settings and does not count."""

    sources: Sources
    viewer: Viewer
    zone: ZoneInfo
    at: datetime | None
    ignored: tuple[str, ...] = ()


def load(config: Path | None, *, is_demo: bool) -> LoadedSettings:
    """The settings that count. Raises SettingsError."""
    return LoadedSettings(demo_settings()) if is_demo else load_settings(config)


def web_settings(loaded: LoadedSettings, *, is_demo: bool) -> Settings:
    """Settings that may serve the web: with an identity that a request can have. Raises SettingsError."""
    kind = loaded.settings.identity.kind
    if kind is not IdentityKind.HEADER and not is_demo:
        raise SettingsError(
            f"serve needs identity.kind = header, and it is {kind}",
            hint="unix is for the terminal and for Passenger, demo comes with `fullwarp demo`. "
            "Give serve a settings file of its own: fullwarp --config FILE serve.",
        )
    return loaded.settings


def open_view(config: Path | None, at: str, *, is_demo: bool) -> View:
    """Open the sources for who asks. Raises SettingsError where nobody may ask from a terminal, BadRequest."""
    loaded = load(config, is_demo=is_demo)
    settings = loaded.settings
    if settings.identity.kind is IdentityKind.HEADER:
        raise SettingsError(
            "identity.kind = header says who asks in the browser, not in a terminal", hint=TERMINAL_FILE
        )
    zone = ZoneInfo(settings.site_timezone)
    moment = parse_moment(at, datetime.now(UTC), zone)
    sources = open_sources(settings)
    if sources.demo_history is not None:
        sources.demo_history.is_patient = True
    return View(sources, _viewer(settings, sources), zone, moment, loaded.ignored)


def _viewer(settings: Settings, sources: Sources) -> Viewer:
    viewer_of = demo_viewer if settings.identity.kind is IdentityKind.DEMO else unix_viewer
    try:
        return viewer_of(settings.identity, _associations(sources))
    except Unidentified as err:
        raise SettingsError(str(err)) from err


def _associations(sources: Sources) -> Sequence[Association]:
    """Slurm's account tree; empty while it cannot be had, which makes nobody staff."""
    try:
        return sources.associations()
    except SourceError:
        return ()
