"""The log of the server: on stderr, in the form that the settings want, without any secret of theirs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from settings import Settings, secret_text
from terminal.log_forms import FORMS, Hide

SHORTEST = 4  # a shorter secret would blot out half of every line
LONG = 16  # of a header's value, which may be a key or a mere name
BLOT = "***"
_LOOKS_SECRET = re.compile(r"fullwarp_[0-9a-f]{12}_[A-Za-z0-9_-]+|(?<=://)[^\s/@]*:[^\s/@]*(?=@)|(?i:(?<=bearer )\S+)")


def log_config(settings: Settings) -> dict[str, Any]:
    """For logging.config.dictConfig: all loggers to stderr; gunicorn's own say what is worth a warning."""
    form = FORMS[settings.logs.format]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"form": {"()": lambda: form(hiding(settings))}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "form", "stream": "ext://sys.stderr"}},
        "root": {"level": settings.logs.level.upper(), "handlers": ["stderr"]},
        "loggers": {
            **{f"gunicorn.{name}": {"level": "WARNING", "handlers": [], "propagate": True} for name in _GUNICORN},
            **{name: {"level": "WARNING"} for name in _CHATTY},
        },
    }


_GUNICORN = ("error", "access")
_CHATTY = ("urllib3", "alembic", "httpx2", "httpcore2", "openai", "dash", "werkzeug")


def hiding(settings: Settings) -> Hide:
    """What blots out the secrets of the settings, those in files as they are now, and whatever looks like a token."""

    def hide(text: str) -> str:
        for secret in secrets_of(settings):
            text = text.replace(secret, BLOT)
        return _LOOKS_SECRET.sub(BLOT, text)

    return hide


def secrets_of(section: BaseModel) -> Iterator[str]:
    """Every secret text in a section and those within it; of an address, its password too."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from secrets_of(value)
        elif isinstance(value, SecretStr):
            yield from _parts(_secret(value, getattr(section, f"{name}_file", None)))
        elif name == "headers":
            yield from (text for text in value.values() if len(text) >= LONG)
        elif name == "headers_file" and value is not None:
            yield from (part for part in _secret(SecretStr(""), value).split() if len(part) >= LONG)


def _secret(value: SecretStr, file: Path | None) -> str:
    try:
        return secret_text(value, file)
    except (OSError, UnicodeDecodeError):
        return ""


def _parts(secret: str) -> Iterator[str]:
    if "://" in secret:
        password = urlsplit(secret).password or ""
        yield from (one for one in (secret, password) if len(one) >= SHORTEST)
    elif len(secret) >= SHORTEST:
        yield secret
