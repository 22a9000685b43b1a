"""What the site says about the app in Open OnDemand: one file that only root can write. Nothing else counts."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError, model_validator

from configuration.checks import known_zone, origin, web_address
from configuration.section import Section
from data.errors import SettingsError
from data.settings_file import is_protected
from settings import MetricsSettings, SlurmKind, SlurmSettings

NAME = "ondemand.toml"
SYSTEM_FILE = Path("/etc/fullwarp") / NAME
LEAST_REFRESH_SECONDS = 60


class Mode(StrEnum):
    CENTRAL = "central"
    DIRECT = "direct"


class Options(Section):
    mode: Mode = Field(Mode.CENTRAL, description="central: asks a Fullwarp server. direct: asks Slurm as the user.")
    server: Annotated[str, AfterValidator(web_address("http", "https"))] = Field(
        "", description="Address of the Fullwarp server, such as https://fullwarp.example.org."
    )
    token_folder: Path = Field(
        Path("/var/lib/fullwarp-ondemand"), description="Where the hook leaves each user's token, one file a user."
    )
    pages: Annotated[str, AfterValidator(web_address("http", "https"))] = Field(
        "", description="Address of the server's pages for people, for the links to what is not here; empty = none."
    )
    has_chat: bool = Field(True, description="Whether there is a tab Ask: the server's assistant, asked as the user.")
    frame_ancestors: list[Annotated[str, AfterValidator(origin)]] = Field(
        default_factory=list, description="Origins besides Open OnDemand's own that may show the app in a frame."
    )
    refresh_seconds: int = Field(
        LEAST_REFRESH_SECONDS, ge=LEAST_REFRESH_SECONDS, le=3600, description="How often a page that is looked at asks."
    )
    timeout_seconds: float = Field(15.0, gt=0, le=60, description="How long the server may take for one answer.")
    site_timezone: Annotated[str, AfterValidator(known_zone)] = Field("UTC", description="Time zone; direct mode only.")
    slurm: SlurmSettings = Field(
        default_factory=lambda: SlurmSettings(kind=SlurmKind.COMMANDS), description="How Slurm is asked; direct only."
    )
    metrics: MetricsSettings | None = Field(
        None, description="A metrics server that asks for no secret; direct mode only. None = GPUs are not measured."
    )

    @model_validator(mode="after")
    def _fits_its_mode(self) -> Options:
        if self.mode is Mode.CENTRAL and not self.server:
            raise ValueError("server is needed: the address of the Fullwarp server")
        if self.mode is Mode.DIRECT and (found := _secrets(self)):
            raise ValueError(f"{', '.join(found)} is a secret, and every user could read it: the central mode has none")
        return self


def read_options(folder: Path) -> Options:
    """Read ondemand.toml beside the app, else /etc/fullwarp/ondemand.toml. Raises SettingsError."""
    try:
        path = next((path for path in (folder / NAME, SYSTEM_FILE) if path.is_file()), None)
    except PermissionError as err:
        raise SettingsError(f"{err.filename} cannot be reached", hint="Every user must be able to read it.") from err
    if path is None:
        raise SettingsError(f"there is no {SYSTEM_FILE}", hint="The cluster staff write it: mode and server.")
    if not is_protected(path):
        raise SettingsError(f"{path} counts only if nobody but root can write it", hint="chown and chmod it.")
    try:
        return Options(**tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as err:
        raise SettingsError(f"{path} cannot be read: {err.strerror}", hint="Every user must be able to.") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise SettingsError(f"{path} is not TOML: {err}") from err
    except ValidationError as err:
        first = err.errors(include_url=False, include_input=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{path}: {name}: {first['msg']}" if name else f"{path}: {first['msg']}") from None


def _secrets(options: Options) -> list[str]:
    """Names of the fields that hold a secret, or the place of one."""
    sections = {"slurm": options.slurm, "metrics": options.metrics}
    return [
        f"{name}.{field}"
        for name, section in sections.items()
        if section is not None
        for field in type(section).model_fields
        if _is_secret(field) and _is_given(getattr(section, field))
    ]


def _is_secret(field: str) -> bool:
    return any(word in field for word in ("token", "password", "secret", "headers", "client_key", "username"))


def _is_given(value: object) -> bool:
    return bool(value.get_secret_value()) if hasattr(value, "get_secret_value") else bool(value)
