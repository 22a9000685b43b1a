"""Where `fullwarp enforce` keeps its ladders and its audit. Only the enforcer's account writes there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr

from configuration.section import Section


class EnforcementSettings(Section):
    directory: Path | None = Field(
        None, description="Folder of the SQLite file with ladders and audit; empty and no url = nobody enforces."
    )
    url: SecretStr = Field(
        SecretStr(""),
        description="A database instead, such as postgresql+psycopg://enforcer@host/fullwarp; better in url_file.",
    )
    url_file: Path | None = Field(None, description="File that holds the url.")
    audit_days: Annotated[int, Field(ge=1, le=36500)] | None = Field(
        400, description="How long the audit of a settled act is kept, in days; empty = for ever."
    )

    @property
    def is_set(self) -> bool:
        """Whether anything is kept."""
        return self.directory is not None or self.url_file is not None or bool(self.url.get_secret_value())
