"""What a command stands on: the settings that count, the sources, and who asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from zoneinfo import ZoneInfo

from data.errors import BadRequest, SettingsError, SourceError, SourceUnreachable
from data.model import Association, SourceCondition, SourceState, Viewer
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


def require_slurm(sources: Iterable[SourceState], *, is_empty: bool) -> None:
    """Raise SourceUnreachable where nothing at all is known of the cluster: an empty answer would read as zeros."""
    for source in sources:
        if is_empty and source.name == "slurm" and source.condition is SourceCondition.DOWN:
            raise SourceUnreachable(
                f"Slurm does not answer, so nothing is known of the cluster: {source.error or 'no answer'}",
                hint=source.hint or "See `fullwarp check`.",
            )


def require_known(kind: str, asked: Iterable[str], known: Iterable[str]) -> None:
    """Raise BadRequest for a filter's word that nothing can have: an empty list would read as an answer.

    With nothing known (the source does not answer) every word passes.
    """
    names = sorted(known)
    for word in asked:
        if names and word not in names:
            near = get_close_matches(word, names, 3) or names[:12]
            raise BadRequest(f"there is no {kind} {word}", hint=f"Such as {', '.join(near)}.")
