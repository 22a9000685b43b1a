"""Whom mails come from, which server takes them, and how a user's address is found."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from configuration.checks import Seconds, web_address
from configuration.section import Section

_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?", re.ASCII
)


class MailSecurity(StrEnum):
    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


PORTS = {MailSecurity.STARTTLS: 587, MailSecurity.TLS: 465, MailSecurity.NONE: 25}


def is_address(text: str) -> bool:
    """Whether a text is one plain mail address, without a name and without anything that ends a header."""
    return _ADDRESS.fullmatch(text) is not None


def _address(text: str) -> str:
    if text and not is_address(text):
        raise ValueError(f"{text[:80]!r} is no mail address such as hpc@example.org")
    return text


def _pattern(text: str) -> str:
    if text and not ("{user}" in text and is_address(text.replace("{user}", "user"))):
        raise ValueError("must be an address with {user} in it, such as {user}@example.org")
    return text


Address = Annotated[str, AfterValidator(_address)]


class MailSettings(Section):
    """Mail to users and staff. Of the three ways to a user's address the file comes first, then the command, then the
    pattern; whom none of them names gets no mail, and staff are told."""

    host: str = Field("", description="SMTP server; empty = no mail, and then no step is taken.")
    port: int | None = Field(
        None, ge=1, le=65535, description="Its port; empty = 587 with starttls, 465 with tls, 25 with none."
    )
    security: MailSecurity = Field(
        MailSecurity.STARTTLS, description="starttls, tls (from the first byte), or none (inside a host or a safe net)."
    )
    ca_file: Path | None = Field(None, description="CA bundle for starttls and tls; empty = the system's.")
    user: str = Field("", description="User name at the server; empty = none is asked for.")
    password: SecretStr = Field(SecretStr(""), description="Its password; better in password_file.")
    password_file: Path | None = Field(None, description="File that holds the password.")
    timeout_seconds: Seconds = Field(
        20.0, description="Longest wait for an answer of the server, in seconds; six times that for a mail."
    )
    sender: Address = Field("", description="Address that mails come from, such as hpc-noreply@example.org.")
    reply_to: Address = Field("", description="Where answers go: the ticket system's address; empty = to the sender.")
    staff: list[Address] = Field(default_factory=list, description="Addresses of those who are told what went wrong.")
    address_file: Path | None = Field(
        None, description="CSV file with lines user,address; read again when it changes; # begins a comment."
    )
    address_command: list[str] = Field(
        default_factory=list,
        description="Command that prints a user's address, {user} stands for the name: ['/usr/local/bin/mail-of', "
        "'{user}']. No shell; for an unknown user it prints nothing, not even an error.",
    )
    address_pattern: Annotated[str, AfterValidator(_pattern)] = Field(
        "", description="Address of every user, such as {user}@example.org."
    )
    templates: Path | None = Field(
        None, description="Folder with templates of your own; those that are not there are the shipped ones."
    )
    site: str = Field("", max_length=80, description="Name that mails give the cluster; empty = the cluster's own.")
    dashboard: Annotated[str, AfterValidator(web_address("http", "https"))] = Field(
        "", description="Address of the dashboard for links in mails; empty = no links."
    )
    help: Annotated[str, AfterValidator(web_address("http", "https"))] = Field(
        "", description="Page with the site's rules for GPU use, linked from mails; empty = none."
    )

    @property
    def is_set(self) -> bool:
        return bool(self.host)

    @property
    def server_port(self) -> int:
        return PORTS[self.security] if self.port is None else self.port

    @model_validator(mode="after")
    def _can_be_sent(self) -> Self:
        if self.host and not self.sender:
            raise ValueError("sender is missing: the address that mails come from")
        if self.user and self.security is MailSecurity.NONE:
            raise ValueError("user needs security = starttls or tls: without it the password is sent in the clear")
        has_password = self.password_file is not None or bool(self.password.get_secret_value())
        if has_password != bool(self.user):
            raise ValueError("user and password (or password_file) come together")
        if self.address_command and not any("{user}" in part for part in self.address_command[1:]):
            raise ValueError("address_command must have {user} among its arguments")
        return self


class WebhookSettings(Section):
    """A chat's incoming webhook (Slack, Mattermost, Zulip): told what was done, and what went wrong."""

    url: SecretStr = Field(SecretStr(""), description="Its address, which is a secret; better in url_file.")
    url_file: Path | None = Field(None, description="File that holds the address.")
    ca_file: Path | None = Field(None, description="CA bundle for https; empty = the system's.")
    timeout_seconds: Seconds = Field(10.0, description="Longest wait for its answer, in seconds.")

    @property
    def is_set(self) -> bool:
        return self.url_file is not None or bool(self.url.get_secret_value())
