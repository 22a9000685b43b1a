"""What the commands share that keep something in the application store: who may, and the store itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from commands.asked import Asked
from data.errors import BadRequest, NotFound, SettingsError

if TYPE_CHECKING:
    from data.model import Viewer
    from data.state.store import StateStore
    from settings import Settings


def who_asks(context: typer.Context) -> tuple[Settings, Viewer | None]:
    """The settings, and who runs this where they say that a process has a name. With the settings of a server, who
    can write its store decides: None."""
    from settings import IdentityKind
    from terminal.session import load, open_view

    asked: Asked = context.obj
    settings = load(asked.config, is_demo=asked.is_demo).settings
    if settings.identity.kind is IdentityKind.HEADER:
        return settings, None
    view = open_view(asked.config, "", is_demo=asked.is_demo)
    return view.sources.settings, view.viewer


def require_staff(me: Viewer | None, own: str) -> None:
    """Raise BadRequest for whom the settings name and do not call staff; `own` is the command that shows their own."""
    if me is not None and not me.is_staff:
        raise BadRequest("only staff may do this", hint=f"Your own: {own}.")


def open_kept(settings: Settings, what: str, make: str, *, writes: bool = False) -> StateStore:
    """The store. Raises SettingsError where none is set, NotFound where nothing was ever kept; `what` names what is
    kept, `make` the command that makes the first."""
    from data.state.store import open_store

    found = open_store(settings.state, writes=writes)
    if found is not None:
        return found
    if not settings.state.is_set:
        raise SettingsError(
            f"no {what} are kept here", hint="Set state.directory or state.url in the server's settings."
        )
    raise NotFound(f"There are no {what} in {settings.state.directory}", hint=f"Make one: {make}.")


def process_user() -> str:
    """Who ran the command, by name where the host knows one."""
    import os
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
