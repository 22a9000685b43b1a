"""What the web app lets in and gives out: how much, how often, to whom, and into whose frames."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from configuration.checks import known_network, origin
from configuration.section import Section


class ExposureSettings(Section):
    frame_ancestors: list[Annotated[str, AfterValidator(origin)]] = Field(
        default_factory=list,
        description="Origins that may show the pages in a frame, besides the server itself, such as "
        "https://ondemand.example.org.",
    )
    origins: list[Annotated[str, AfterValidator(origin)]] = Field(
        default_factory=list,
        description="Origins from which browsers may change things, where the proxy passes on another Host than the "
        "browser's; empty = the Host of the request.",
    )
    max_body_bytes: int = Field(
        1 << 20, ge=1024, le=1 << 30, description="The largest body of a request, in bytes; more gets 413."
    )
    requests_per_minute: int = Field(
        1800,
        ge=0,
        le=1_000_000,
        description="The most pages and refreshes of one user in a minute, files not counted; 0 = no limit.",
    )
    scrape_addresses: list[Annotated[str, AfterValidator(known_network)]] = Field(
        default_factory=list,
        description="Addresses or networks that may read /readyz and the server's own metrics without a token. What "
        "the proxy passes on never counts as its own.",
    )
    scrape_token: SecretStr = Field(
        SecretStr(""),
        description="Bearer token that may read the same, whether the store of tokens answers or not; better in "
        "scrape_token_file.",
    )
    scrape_token_file: Path | None = Field(
        None, description="File that holds the scrape_token; read again when it changes."
    )
