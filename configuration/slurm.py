"""How Slurm is read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from configuration.checks import Seconds, web_address
from configuration.section import Section


class SlurmKind(StrEnum):
    REST = "rest"
    COMMANDS = "commands"
    SIMULATED = "simulated"


class SlurmSettings(Section):
    kind: SlurmKind = Field(SlurmKind.COMMANDS, description="How Slurm is read: rest, commands or simulated.")
    url: Annotated[str, AfterValidator(web_address("http", "https", "unix"))] = Field(
        "", description="slurmrestd: http://host:6820, https://..., or unix:///run/slurmrestd.sock."
    )
    user: str = Field(
        "", pattern=r"^[!-~]*$", description="User name sent to slurmrestd with the token (X-SLURM-USER-NAME)."
    )
    token: SecretStr = Field(SecretStr(""), description="JWT for slurmrestd; better in token_file.")
    token_file: Path | None = Field(None, description="File that holds the JWT; read again when it changes.")
    ca_file: Path | None = Field(None, description="CA bundle for https.")
    api_version: str = Field("", description="slurmrestd data version such as v0.0.41; empty = negotiated.")
    bin_dir: Path | None = Field(None, description="Folder of squeue, sacct, scontrol; empty = PATH.")
    conf: Path | None = Field(None, description="SLURM_CONF for the commands; empty = Slurm's own default.")
    timeout_seconds: Seconds = Field(20.0, description="Time limit of one request or command, in seconds.")
