"""What the server writes about itself, and in which form."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from configuration.checks import HeaderName
from configuration.section import Section


class LogSettings(Section):
    format: Literal["text", "json", "logfmt"] = Field("text", description="Form of a line on stderr.")
    level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="The least that is written; info writes a line for each request."
    )
    request_id_header: HeaderName = Field(
        "X-Request-ID", description="Header with the id of a request: taken from the trusted proxy, else made."
    )
