"""Opens a store and keeps its schema: created when first written to, upgraded on command alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from pydantic import SecretStr
from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from configuration.section import secret_text
from data.errors import FullwarpError, SettingsError, SourceUnreachable
from data.state.engine import first_line, make_engine


class Place(Protocol):
    """Where the settings put a store: a folder, or the address of a database."""

    @property
    def directory(self) -> Path | None: ...
    @property
    def url(self) -> SecretStr: ...
    @property
    def url_file(self) -> Path | None: ...
    @property
    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class StoreKind:
    """One of the stores: its name for people, its section of the settings, its SQLite file and its schema.

    `version_table` lets two stores share a database. `has_readers`: other accounts of the group read the file, and
    whoever does not write opens it read-only, as whoever cannot write does everywhere.
    """

    name: str
    section: str
    file: str
    migrations: Path
    upgrade: str
    version_table: str = "alembic_version"
    has_readers: bool = False

    @property
    def modes(self) -> tuple[int, int]:
        """Of folder and file."""
        return (0o750, 0o640) if self.has_readers else (0o700, 0o600)


APPLICATION = StoreKind(
    "application store",
    "state",
    "state.sqlite",
    Path(__file__).resolve().parent / "migrations",
    "Stop what writes to it and run: fullwarp state upgrade",
)


class StateStore:
    """One process's way to the store. Raises SourceUnreachable whenever the database does not do as asked."""

    def __init__(self, engine: Engine, kind: StoreKind = APPLICATION) -> None:
        self._engine, self.kind = engine, kind

    @property
    def is_sqlite(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    @property
    def file(self) -> Path | None:
        """The SQLite file; None for another database."""
        name = self._engine.url.database
        return Path(name) if self.is_sqlite and name else None

    def hold(self) -> Connection:
        """A connection of one's own, to be closed. Raises SourceUnreachable."""
        try:
            return self._engine.connect()
        except SQLAlchemyError as err:
            raise self.unreachable(err) from err

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection in a transaction, committed at the end."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as err:
            raise self.unreachable(err) from err

    def unreachable(self, err: SQLAlchemyError) -> SourceUnreachable:
        """What such an error of the database is to whoever asked."""
        section = self.kind.section
        return SourceUnreachable(
            f"the {self.kind.name} does not answer: {first_line(err)}",
            hint=f"See {section}.directory and {section}.url.",
        )

    def revision(self) -> str | None:
        """The schema that the database has; None = it is empty."""
        with self.connection() as connection:
            options = {"version_table": self.kind.version_table}
            return MigrationContext.configure(connection, opts=options).get_current_revision()

    def upgrade(self) -> None:
        """Bring the schema up to this version's."""
        with self.connection() as connection:
            config = _alembic(self.kind)
            config.attributes["connection"] = connection
            config.attributes["version_table"] = self.kind.version_table
            command.upgrade(config, "head")

    def require_current(self) -> None:
        """Raise SettingsError for a schema that is newer or older than this version's; an empty database passes."""
        found, kind = self.revision(), self.kind
        if found is None or found == newest(kind):
            return
        if found not in revisions(kind):
            raise SettingsError(
                f"the {kind.name} has the schema {found}, which a newer version of Fullwarp wrote",
                hint=f"Install that version, or give this one a store of its own "
                f"({kind.section}.directory, {kind.section}.url).",
            )
        raise SettingsError(f"the {kind.name} has the schema {found}, and {newest(kind)} is wanted", hint=kind.upgrade)

    def close(self) -> None:
        self._engine.dispose()


def open_store(settings: Place, *, writes: bool = False, kind: StoreKind = APPLICATION) -> StateStore | None:
    """The store that the settings name, None where they name none. With `writes` an empty one gets its tables.

    Without `writes` nothing is created: None for a file that does not exist yet. Raises SettingsError.
    """
    address: str | URL | None = _address(settings, kind)
    if address is None and settings.directory is None:
        return None
    if address is None and settings.directory is not None:
        file = settings.directory / kind.file
        if not writes and not _is_there(file, kind):
            return None
        reads = not writes and (kind.has_readers or not os.access(file, os.W_OK))
        if not reads:
            _make(file, kind)
        address = _file_address(file, read_only=reads)
    store = StateStore(make_engine(address or "", kind.section), kind)
    try:
        store.require_current()
        if writes and store.revision() is None:
            store.upgrade()
    except FullwarpError:
        store.close()  # it is opened again and again, and its connection would stay
        raise
    return store


def upgrade_store(settings: Place, kind: StoreKind = APPLICATION) -> tuple[str | None, str]:
    """Upgrade the schema; the one that it had and the one that it has. Raises SettingsError, also for a newer one."""
    address: str | URL | None = _address(settings, kind)
    if address is None:
        if settings.directory is None:
            raise SettingsError(f"no {kind.name} is set", hint=f"Set {kind.section}.directory or {kind.section}.url.")
        _make(settings.directory / kind.file, kind)
        address = _file_address(settings.directory / kind.file)
    store = StateStore(make_engine(address, kind.section, answer_seconds=None), kind)
    try:
        before = store.revision()
        if before is not None and before not in revisions(kind):
            store.require_current()
        store.upgrade()
    finally:
        store.close()
    return before, newest(kind)


def newest(kind: StoreKind = APPLICATION) -> str:
    """The schema of this version."""
    return ScriptDirectory.from_config(_alembic(kind)).get_current_head() or ""


def revisions(kind: StoreKind = APPLICATION) -> frozenset[str]:
    """Every schema that this version can upgrade from."""
    return frozenset(one.revision for one in ScriptDirectory.from_config(_alembic(kind)).walk_revisions())


def _alembic(kind: StoreKind) -> Config:
    config = Config()
    config.set_main_option("script_location", str(kind.migrations).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _address(settings: Place, kind: StoreKind) -> str | None:
    try:
        return secret_text(settings.url, settings.url_file) or None
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"{kind.section}.url_file: {settings.url_file} cannot be read: {err}") from err


def _file_address(file: Path, *, read_only: bool = False) -> URL:
    """Not as text, in which a path's ? and % would mean something else."""
    if not read_only:
        return URL.create("sqlite", database=str(file))
    return URL.create("sqlite", database=f"file:{quote(str(file))}", query={"mode": "ro", "uri": "true"})


def _is_there(file: Path, kind: StoreKind) -> bool:
    """Whether the file exists. Raises SettingsError where that cannot be told: it must not look like an empty store."""
    try:
        file.stat()
    except FileNotFoundError:
        return False
    except OSError as err:
        raise SettingsError(
            f"{kind.section}.directory: {file} cannot be looked at: {err.strerror}",
            hint="Let the account that runs this enter the folder and read the file.",
        ) from err
    return True


def _make(file: Path, kind: StoreKind) -> None:
    """The folder and the file for this account (and its group's readers); one that is there stays as it is."""
    folder_mode, file_mode = kind.modes
    try:
        file.parent.mkdir(mode=folder_mode, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, file_mode))
    except OSError as err:
        raise SettingsError(
            f"{kind.section}.directory: {file} cannot be written: {err.strerror}",
            hint="Run this as the account that writes it, and let that account own the folder.",
        ) from err
