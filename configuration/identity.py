"""Who somebody is, and what they may see."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from configuration.checks import HeaderName, known_network
from configuration.section import Section


class IdentityKind(StrEnum):
    HEADER = "header"
    UNIX = "unix"
    DEMO = "demo"


class IdentitySettings(Section):
    kind: IdentityKind = Field(
        IdentityKind.HEADER, description="Where the viewer's name comes from: header, unix or demo."
    )
    user_header: HeaderName = Field("X-Remote-User", description="Header in which the trusted proxy names the user.")
    user_domain: str = Field(
        "",
        pattern=r"^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*)?$",
        description="Domain that is taken off every name in user_header: with site.edu, alice@site.edu is the user "
        "alice, and a name of another domain or of none is refused; empty = names are taken as they are.",
    )
    group_header: str = Field(
        "",
        pattern=r"^[A-Za-z0-9-]*$",
        description="Header in which the proxy lists the user's groups; empty = not used.",
    )
    secret: SecretStr = Field(SecretStr(""), description="Shared secret that the proxy sends; better in secret_file.")
    secret_file: Path | None = Field(None, description="File that holds the shared secret.")
    secret_header: HeaderName = Field(
        "X-Fullwarp-Secret", description="Header in which the proxy sends the shared secret."
    )
    proxy_addresses: list[Annotated[str, AfterValidator(known_network)]] = Field(
        default_factory=lambda: ["127.0.0.1", "::1"], description="Addresses or networks of the proxy."
    )
    trust_loopback: bool = Field(
        False, description="Trust every process on this host to name the user. Only without other users."
    )
    staff_users: list[str] = Field(default_factory=list, description="Users with the role staff.")
    staff_groups: list[str] = Field(
        default_factory=list, description="Unix groups (or groups in group_header) with the role staff."
    )
    staff_admin_levels: list[str] = Field(
        default_factory=lambda: ["Administrator", "Operator"],
        description="Slurm AdminLevels with the role staff.",
    )
    visibility: Literal["own", "account", "all"] = Field("own", description="What a user sees of other people's jobs.")
    demo_user: str = Field("", description="Who one is in the demo; empty = a member of staff.")
