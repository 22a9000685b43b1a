"""Reads the settings: a TOML file, then FULLWARP_* variables over it. The rules of which file counts are here."""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource

from data.errors import SettingsError
from data.private import default_folder
from settings import IdentityKind, Settings

SYSTEM_FILE = Path("/etc/fullwarp/fullwarp.toml")
LOCAL_FILE = Path("fullwarp.toml")
PREFIX = "FULLWARP_"
NOT_FIELDS = {"FULLWARP_CONFIG", "FULLWARP_SERVER", "FULLWARP_TOKEN"}


class _Environment(EnvSettingsSource):
    """FULLWARP_SECTION__FIELD; a list is JSON or separated by commas."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        if get_origin(field.annotation) is list and not str(value).lstrip().startswith("["):
            return [part.strip() for part in str(value).split(",") if part.strip()]
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """`path` is None without a file; `ignored` names what was given and does not count, with the reason."""

    settings: Settings
    path: Path | None = None
    ignored: tuple[str, ...] = ()


def load_settings(config: Path | None = None) -> LoadedSettings:
    """Read the first settings file that exists, then the environment over it.

    Looked for: `config`, $FULLWARP_CONFIG, ./fullwarp.toml, /etc/fullwarp/fullwarp.toml. With identity.kind = unix and
    no root rights, only a file that root owns counts, and neither `config` nor the environment does.
    Raises SettingsError.
    """
    path = _settings_file(config)
    loaded = LoadedSettings(_parse(path, _variables()), path)
    if loaded.settings.identity.kind is IdentityKind.DEMO:
        raise SettingsError(
            "identity.kind = demo makes everybody staff, and counts only with --demo",
            hint='Set [identity] kind = "header" for the server or "unix" for the terminal.',
        )
    if loaded.settings.identity.kind is not IdentityKind.UNIX or os.getuid() == 0:
        return loaded
    return _protected(path)


def demo_settings(bind: str = "") -> Settings:
    """Settings of the simulated cluster: variables count, files do not. Raises SettingsError."""
    simulated = {"slurm": {"kind": "simulated"}, "metrics": {"kind": "simulated"}, "identity": {"kind": "demo"}}
    values = simulated | ({"serve": {"bind": bind}} if bind else {})
    found = _parse(None, _variables(), over=values)
    if found.history.directory is not None or not found.demo.history_days:
        return found
    from data.history.demo.keeper import demo_folder

    base = found.cache.directory or default_folder(os.environ)
    history = found.history.model_copy(update={"directory": demo_folder(base, found.demo.seed)})
    return found.model_copy(update={"history": history})


def _protected(chosen: Path | None) -> LoadedSettings:
    trusted = next((path for path in (LOCAL_FILE, SYSTEM_FILE) if path.is_file() and is_protected(path)), None)
    if trusted is None:
        raise SettingsError(
            f"identity.kind = unix counts only from a settings file that root owns, not from {chosen or 'variables'}",
            hint=f"Let root own the file and its folder, writable by nobody else, or put it at {SYSTEM_FILE}.",
        )
    given = [chosen] if chosen and chosen.resolve() != trusted.resolve() else []
    ignored = tuple(f"{item} (identity.kind = unix)" for item in [*given, *_variables().values()])
    return LoadedSettings(_parse(trusted, {}), trusted, ignored)


def is_protected(path: Path) -> bool:
    """Whether only root can change this file: it and every folder above belong to root and to no other writer."""
    path = path.resolve()
    return all(_only_root_writes(item) for item in (path, *path.parents))


def _only_root_writes(path: Path) -> bool:
    status = path.stat()
    shared = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return status.st_uid == 0 and (not shared or bool(path.is_dir() and status.st_mode & stat.S_ISVTX))


def _settings_file(config: Path | None) -> Path | None:
    named = config or (Path(os.environ["FULLWARP_CONFIG"]) if os.environ.get("FULLWARP_CONFIG") else None)
    if named is not None:
        return named
    return next((path for path in (LOCAL_FILE, SYSTEM_FILE) if path.is_file()), None)


def _variables() -> dict[tuple[str, ...], str]:
    """Names of the environment variables that set a field, by the field's path."""
    names = [name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in NOT_FIELDS]
    return {tuple(name[len(PREFIX) :].lower().split("__")): name for name in names}


def _parse(
    path: Path | None, variables: Mapping[tuple[str, ...], str], over: Mapping[str, Any] | None = None
) -> Settings:
    values = _read_toml(path) if path else {}
    for place, name in variables.items():
        if place[0] not in Settings.model_fields:
            raise SettingsError(f"unknown variable {name}", hint=_nearest(place[:1]))
    environment = _Environment(Settings)() if variables else {}
    try:
        return Settings(**_merged(_merged(values, environment), over or {}))
    except ValidationError as err:
        complaints = [_complaint(item, path, variables) for item in err.errors(include_url=False)]
        raise SettingsError("\n".join(complaints), hint="See docs/reference/settings.md for every field.") from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise SettingsError(f"the settings file {path} cannot be read: {err.strerror}") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise SettingsError(f"the settings file {path} is not TOML: {err}") from err


def _merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    both = {**low, **high}
    for name in low.keys() & high.keys():
        if isinstance(low[name], dict) and isinstance(high[name], dict):
            both[name] = _merged(low[name], high[name])
    return both


def _complaint(item: ErrorDetails, path: Path | None, variables: Mapping[tuple[str, ...], str]) -> str:
    """One line: field, value (never a secret's), wanted form, and the file or variable that it came from."""
    place = tuple(str(part) for part in item["loc"])
    name = ".".join(place)
    origin = _origin(place, path, variables)
    if item["type"] == "extra_forbidden":
        return f"unknown setting {name} ({origin}); {_nearest(place)}"
    field = setting_at(place)
    shown = "" if _hides(field, item) else f" = {str(item['input'])[:80]!r}"
    wanted = item["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    meaning = f". {field.description}" if field and field.description else ""
    return f"{name}{shown} is wrong: {wanted} ({origin}){meaning}"


def _origin(place: tuple[str, ...], path: Path | None, variables: Mapping[tuple[str, ...], str]) -> str:
    for given, variable in variables.items():
        if place[: len(given)] == given:
            return f"variable {variable}"
    return str(path) if path else "variables"


def _hides(field: FieldInfo | None, item: ErrorDetails) -> bool:
    """Secrets, header values, and addresses that hold a password are never shown; nor is a whole section."""
    return field is None or not field.repr or field.annotation is SecretStr or "@" in str(item["input"])


def _nearest(place: tuple[str, ...]) -> str:
    known = [name for name, _ in setting_fields()] + list(Settings.model_fields)
    close = difflib.get_close_matches(".".join(place), known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else "see docs/reference/settings.md"


def setting_at(place: tuple[str, ...]) -> FieldInfo | None:
    """The field at this path (a list index or dictionary key after it is left out); None = a section or nothing."""
    dotted = ".".join(place) + "."
    found = next(((name, field) for name, field in setting_fields() if dotted.startswith(f"{name}.")), None)
    if found is None:
        return None
    name, field = found
    inner = model_within(field.annotation)
    return field if inner is None else _field_within(inner, place[name.count(".") + 2 :])


def model_within(annotation: Any) -> type[BaseModel] | None:
    """The model of the values of a table or list of tables; None for plain fields."""
    if get_origin(annotation) in {list, dict}:
        value = get_args(annotation)[-1]
        return value if isinstance(value, type) and issubclass(value, BaseModel) else None
    return None


def _field_within(model: type[BaseModel], place: tuple[str, ...]) -> FieldInfo | None:
    """The field of a table's value (`place` begins behind its key); None = the whole value."""
    field = model.model_fields.get(place[0]) if place else None
    inner = None if field is None else model_within(field.annotation)
    return field if inner is None else _field_within(inner, place[2:])


def setting_fields() -> Iterator[tuple[str, FieldInfo]]:
    """Every field with its dotted name, in the order of the file."""
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from ((f"{name}.{inner}", value) for inner, value in section.model_fields.items())
        else:
            yield name, field
