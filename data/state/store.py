"""Opens the application store and keeps its schema: created when first written to, upgraded on command alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from configuration.section import secret_text
from configuration.state import StateSettings
from data.errors import SettingsError, SourceUnreachable

FILE = "state.sqlite"
WAIT_SECONDS = 10.0
_MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_UPGRADE = "Stop what writes to it and run: fullwarp state upgrade"


class StateStore:
    """One process's way to the store. Raises SourceUnreachable whenever the database does not do as asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection in a transaction, committed at the end."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as err:
            raise SourceUnreachable(
                f"the application store does not answer: {_first_line(err)}", hint="See state.directory and state.url."
            ) from err

    def revision(self) -> str | None:
        """The schema that the database has; None = it is empty."""
        with self.connection() as connection:
            return MigrationContext.configure(connection).get_current_revision()

    def upgrade(self) -> None:
        """Bring the schema up to this version's."""
        with self.connection() as connection:
            config = _alembic()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def require_current(self) -> None:
        """Raise SettingsError for a schema that is newer or older than this version's; an empty database passes."""
        found = self.revision()
        if found is None or found == newest():
            return
        if found not in revisions():
            raise SettingsError(
                f"the application store has the schema {found}, which a newer version of Fullwarp wrote",
                hint="Install that version, or give this one a store of its own (state.directory, state.url).",
            )
        raise SettingsError(f"the application store has the schema {found}, and {newest()} is wanted", hint=_UPGRADE)

    def close(self) -> None:
        self._engine.dispose()


def open_store(settings: StateSettings, *, writes: bool = False) -> StateStore | None:
    """The store that the settings name, None where they name none. With `writes` an empty one gets its tables.

    Without `writes` nothing is created: None for a file that does not exist yet. Raises SettingsError.
    """
    address = _address(settings)
    if address is None and settings.directory is None:
        return None
    if address is None and settings.directory is not None:
        file = settings.directory / FILE
        if not file.exists() and not writes:
            return None
        _make(file)
        address = f"sqlite:///{file}"
    store = StateStore(_engine(address or ""))
    store.require_current()
    if writes and store.revision() is None:
        store.upgrade()
    return store


def upgrade_store(settings: StateSettings) -> tuple[str | None, str]:
    """Upgrade the schema; the one that it had and the one that it has. Raises SettingsError, also for a newer one."""
    address = _address(settings)
    if address is None:
        if settings.directory is None:
            raise SettingsError("no application store is set", hint="Set state.directory or state.url.")
        _make(settings.directory / FILE)
        address = f"sqlite:///{settings.directory / FILE}"
    store = StateStore(_engine(address))
    try:
        before = store.revision()
        if before is not None and before not in revisions():
            store.require_current()
        store.upgrade()
    finally:
        store.close()
    return before, newest()


def newest() -> str:
    """The schema of this version."""
    return ScriptDirectory.from_config(_alembic()).get_current_head() or ""


def revisions() -> frozenset[str]:
    """Every schema that this version can upgrade from."""
    return frozenset(one.revision for one in ScriptDirectory.from_config(_alembic()).walk_revisions())


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _address(settings: StateSettings) -> str | None:
    try:
        return secret_text(settings.url, settings.url_file) or None
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"state.url_file: {settings.url_file} cannot be read: {err}") from err


def _make(file: Path) -> None:
    """The folder and the file for this account alone; one that is there already stays as it is."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as err:
        raise SettingsError(
            f"state.directory: {file} cannot be written: {err.strerror}",
            hint="Run this as the account of `fullwarp serve`, and let it own the folder.",
        ) from err


def _engine(address: str) -> Engine:
    try:
        is_sqlite = make_url(address).get_backend_name() == "sqlite"
        options = {"timeout": WAIT_SECONDS} if is_sqlite else {"connect_timeout": int(WAIT_SECONDS)}
        return create_engine(address, pool_pre_ping=not is_sqlite, connect_args=options)
    except (ArgumentError, ImportError, SQLAlchemyError) as err:
        raise SettingsError(
            f"state.url cannot be used: {_first_line(err)}",
            hint="Such as postgresql+psycopg://fullwarp@host/fullwarp, with the extra fullwarp[postgres] installed.",
        ) from err


def _first_line(err: Exception) -> str:
    """Without SQL and its parameters; of a wrong address, not the address, which may hold a password."""
    if isinstance(err, ArgumentError):
        return "it is no address of a database"
    lines = str(getattr(err, "orig", None) or err).splitlines()
    return lines[0][:200] if lines else type(err).__name__
