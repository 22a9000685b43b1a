"""Where the web app keeps what people give it: tokens of the API, exemptions, conversations with the assistant."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr

from configuration.section import Section


class StateSettings(Section):
    directory: Path | None = Field(
        None,
        description="Folder of the SQLite file with tokens of the API, exemptions and conversations with the "
        "assistant; empty and no url = none.",
    )
    url: SecretStr = Field(
        SecretStr(""),
        description="A database instead, such as postgresql+psycopg://fullwarp@host/fullwarp; better in url_file.",
    )
    url_file: Path | None = Field(None, description="File that holds the url.")

    @property
    def is_set(self) -> bool:
        """Whether anything is kept."""
        return self.directory is not None or self.url_file is not None or bool(self.url.get_secret_value())
