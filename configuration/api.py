"""The HTTP API: how often it may be asked, and how long its tokens live."""

from __future__ import annotations

from pydantic import Field

from configuration.section import Section


class ApiSettings(Section):
    requests_per_minute: int = Field(
        600, ge=0, le=1_000_000, description="The most requests to the API of one user in a minute; 0 = no limit."
    )
    longest_token_days: int = Field(366, ge=1, le=3660, description="The longest life of a token, in days.")
