"""How the web app is served, and where its processes share what they know."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from configuration.checks import listening_place, redis_address
from configuration.section import Section


class ServeSettings(Section):
    bind: Annotated[str, AfterValidator(listening_place)] = Field(
        "127.0.0.1:8050", description="host:port or unix:/path/to.sock."
    )
    workers: int = Field(2, ge=1, le=64, description="Worker processes.")
    threads: int = Field(32, ge=1, le=512, description="Threads of each worker.")
    socket_mode: str = Field("660", pattern="^[0-7]{3}$", description="Mode of the Unix socket, octal.")
    url_prefix: str = Field("/", pattern="^/(.*/)?$", description="Path under which the app lives, such as /fullwarp/.")


class CacheSettings(Section):
    kind: Literal["files", "redis", "memory"] = Field("files", description="Where processes share the snapshot.")
    directory: Path | None = Field(
        None, description="Folder for kind files; empty = a private folder in the user's cache."
    )
    redis_url: Annotated[SecretStr, AfterValidator(redis_address)] = Field(
        SecretStr(""), description="redis://:password@host:6379/0 for kind redis; better in redis_url_file."
    )
    redis_url_file: Path | None = Field(None, description="File that holds the redis_url.")
