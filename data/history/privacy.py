"""What of people the history holds: for how long, under which name, and until when. Applied to rows before they are
written, and to files as they grow old."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter, ValidationError

from configuration.history import HistorySettings
from data.errors import BadRequest, FullwarpError, SettingsError
from data.history.datasets import DATASETS
from data.history.pseudonyms import FORGOTTEN, Forgotten, Pseudonyms, ends_before
from data.history.store import DAMAGED, HistoryStore
from data.history.tables import day_of

KEY_FILE = ".pseudonym-key"
_FORGOTTEN_FILE = "forgotten.json"
_FORM = TypeAdapter(tuple[Forgotten, ...])
_LEAST_KEY = 16


@dataclass(frozen=True, slots=True)
class Privacy:
    """What holds at one moment. `pseudonyms` None = nobody's name was ever to be replaced."""

    settings: HistorySettings
    now: datetime
    pseudonyms: Pseudonyms | None = None
    forgotten: tuple[Forgotten, ...] = ()

    def fitted(self, name: str, rows: pa.Table) -> pa.Table:
        """Rows as they may be written: none of days that are kept no longer, old ones without names."""
        column = DATASETS[name].day_column
        kept = getattr(self.settings, f"{name}_days")
        if kept is not None:
            rows = rows.filter(pc.invert(ends_before(rows, column, self._days_ago(kept))))
        if self.pseudonyms is None:
            return rows
        for one in self.forgotten:
            rows = self._split(rows, column, one.until, {one.pseudonym})
        if self.settings.pseudonyms_after_days is not None:
            rows = self._split(rows, column, self._days_ago(self.settings.pseudonyms_after_days), None)
        return rows

    def _split(self, rows: pa.Table, column: str, before: datetime, only: set[str] | None) -> pa.Table:
        old = ends_before(rows, column, before)
        if self.pseudonyms is None or not pc.any(old).as_py():
            return rows
        mine = rows.filter(old)
        mine = self.pseudonyms.applied(mine) if only is None else self.pseudonyms.without(mine, only)
        return pa.concat_tables([mine, rows.filter(pc.invert(old))])

    def _days_ago(self, days: int) -> datetime:
        """The first moment of the first day that is at most so old."""
        return datetime.combine(day_of(self.now) - timedelta(days=days), time(), UTC)


def privacy_of(store: HistoryStore, settings: HistorySettings, now: datetime) -> Privacy:
    """What holds now; makes the key where one is needed. Raises SettingsError, FullwarpError."""
    forgotten = _read_forgotten(store.directory / _FORGOTTEN_FILE)
    if settings.pseudonyms_after_days is None and not forgotten:
        return Privacy(settings, now)
    return Privacy(settings, now, _made(store, settings), forgotten)


def read_pseudonyms(settings: HistorySettings) -> Pseudonyms:
    """The site's pseudonyms, for exports. Raises SettingsError where there is no key that this user may read."""
    path = settings.pseudonym_key_file or (settings.directory or Path()) / KEY_FILE
    try:
        key = path.read_bytes().strip()
    except OSError as err:
        raise SettingsError(
            f"history.pseudonym_key_file: {path} cannot be read: {err.strerror}",
            hint=f"Make one that this user may read: (umask 077; openssl rand -hex 32 > {path})",
        ) from err
    if len(key) < _LEAST_KEY:
        raise SettingsError(
            f"history.pseudonym_key_file: {path} holds fewer than {_LEAST_KEY} bytes",
            hint=f"(umask 077; openssl rand -hex 32 > {path})",
        )
    return Pseudonyms(key)


@dataclass(frozen=True, slots=True)
class ForgottenUser:
    """How many files changed, files that may still name the user because nobody can read them, and how many of their
    conversations with the assistant were deleted (None = no store is set)."""

    files: int
    unreadable: tuple[Path, ...]
    conversations: int | None = None


def forget_user(store: HistoryStore, settings: HistorySettings, user: str, now: datetime) -> ForgottenUser:
    """Take a user's name, and those of their jobs, out of every row up to now; their hours stay counted.

    Also of rows that have a pseudonym already. Slurm's records of these days, when they are read again, come in
    without the name. Can be cut off and repeated. Raises BadRequest for no name.
    """
    if not user.strip() or user == FORGOTTEN:
        raise BadRequest("no user is named", hint="fullwarp history forget USER")
    pseudonyms = _made(store, settings)
    pseudonym = pseudonyms.of(user)
    path = store.directory / _FORGOTTEN_FILE
    others = tuple(one for one in _read_forgotten(path) if one.pseudonym != pseudonym)
    text = _FORM.dump_json((*others, Forgotten(pseudonym, now)), indent=1).decode() + "\n"
    store.write_text(path, text, "forgotten")
    changed = 0
    for name in DATASETS:
        for day in store.days(name):
            changed += store.change(name, day, lambda table: pseudonyms.without(table, {pseudonym}))
    damaged = store.directory / DAMAGED
    return ForgottenUser(changed, tuple(sorted(damaged.iterdir())) if damaged.is_dir() else ())


def _made(store: HistoryStore, settings: HistorySettings) -> Pseudonyms:
    path = store.directory / KEY_FILE
    if settings.pseudonym_key_file is None and not path.exists():
        store.write_text(path, secrets.token_hex(32) + os.linesep, "pseudonym key")
    return read_pseudonyms(settings.model_copy(update={"directory": store.directory}))


def _read_forgotten(path: Path) -> tuple[Forgotten, ...]:
    try:
        return _FORM.validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (ValidationError, OSError) as err:
        raise FullwarpError(
            f"{path} cannot be read", hint="It says who is forgotten: restore it, or forget those users again."
        ) from err
