"""Read the token for slurmrestd and what it says of itself. It is never verified here: that is Slurm's part."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from data.errors import SourceDenied

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_SOON: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Token:
    """A JWT with its claims; `user` and `expires` are None where it does not say."""

    text: str = field(repr=False)
    user: str | None = None
    expires: datetime | None = None

    def expiry_note(self, now: datetime) -> str | None:
        """A sentence when the token has expired or will within a day, with how to make a new one."""
        if self.expires is None or self.expires - now > _SOON:
            return None
        renew = f"make a new one: scontrol token username={self.user or 'NAME'} lifespan=604800"
        when = self.expires.strftime("%Y-%m-%d %H:%M UTC")
        if self.expires <= now:
            return f"the token for slurmrestd expired on {when}; {renew}"
        hours = (self.expires - now).total_seconds() / 3600
        return f"the token for slurmrestd expires in {hours:.1f} h, on {when}; {renew}"


def read_token(text: str, file: Path | None) -> Token | None:
    """The token from the file (read each time, so that a renewed one counts at once) or from the setting.

    Also takes the line `SLURM_JWT=...` that scontrol prints. None = no token.
    Raises SourceDenied for an unreadable one.
    """
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError as err:
            raise SourceDenied(f"cannot read slurm.token_file {file}: {err.strerror}", hint="see its owner") from err
    text = text.strip().removeprefix("SLURM_JWT=")
    if not text and file is None:
        return None
    if not _TOKEN.fullmatch(text):
        place = f"slurm.token_file {file}" if file is not None else "slurm.token"
        raise SourceDenied(f"{place} holds no token", hint="scontrol token username=NAME lifespan=604800")
    claims = _claims(text)
    user = claims.get("sun") or claims.get("username")
    return Token(text, user if isinstance(user, str) else None, _moment(claims.get("exp")))


def _claims(text: str) -> dict[str, Any]:
    parts = text.split(".")
    if len(parts) != 3:
        return {}
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _moment(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, ValueError, OSError):
        return None
