"""A user's mail address: from the site's file, its command, or a pattern."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from configuration.mail import MailSettings, is_address
from data.errors import FullwarpError
from data.slurm.process import run
from policy.actions.outcome import Refused

_OUTPUT_BYTES = 64 * 1024


class Addresses:
    """Finds addresses as the settings say."""

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    def of(self, user: str) -> str | None:
        """The user's address; None where none of the site's ways names one. Raises Refused when one of them fails."""
        for found in (self._from_file, self._from_command, self._from_pattern):
            if address := found(user):
                return address
        return None

    def _from_file(self, user: str) -> str | None:
        file = self._settings.address_file
        if file is None:
            return None
        try:
            status = file.stat()
            return _read(file, status.st_mtime_ns, status.st_size).get(user)
        except (OSError, UnicodeDecodeError, csv.Error) as err:
            raise Refused(f"mail.address_file: {file} cannot be read: {err}") from err

    def _from_command(self, user: str) -> str | None:
        argv = self._settings.address_command
        if not argv or user.startswith("-"):
            return None
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        try:
            done = run(
                [argv[0], *(part.replace("{user}", user) for part in argv[1:])],
                environment=environment,
                timeout_seconds=self._settings.timeout_seconds,
                limit_bytes=_OUTPUT_BYTES,
            )
        except FullwarpError as err:
            raise Refused(f"mail.address_command: {err}") from err
        if done.timed_out:
            raise Refused(f"mail.address_command: {done.name} did not end within {done.seconds:.0f} s")
        if done.code != 0 and (done.stdout.strip() or done.stderr.strip()):
            raise Refused(f"mail.address_command: {done.name} ended with {done.code}: {done.stderr.strip()[:200]}")
        printed = done.stdout.split()
        return _sound(printed[0], f"mail.address_command printed for {user}") if printed else None

    def _from_pattern(self, user: str) -> str | None:
        address = self._settings.address_pattern.replace("{user}", user)
        return address if is_address(address) else None


@lru_cache(maxsize=4)
def _read(file: Path, modified_ns: int, size: int) -> Mapping[str, str]:
    """Addresses by user. Raises Refused for a line that is none."""
    found: dict[str, str] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.reader(lines, skipinitialspace=True), 1):
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            where = f"mail.address_file: {file}, line {number}"
            if len(cells) != 2 or not cells[0]:
                raise Refused(f"{where} must be user,address")
            found[cells[0]] = _sound(cells[1], f"{where} has")
    return found


def _sound(address: str, where: str) -> str:
    if not is_address(address):
        raise Refused(f"{where} {address[:80]!r}, which is no mail address")
    return address
