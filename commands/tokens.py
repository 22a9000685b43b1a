"""Tokens of the HTTP API, and the store that keeps them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from commands.asked import AsJson, Asked, UserOption
from commands.stored import open_kept, process_user, who_asks
from data.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from data.model import Viewer
    from data.state.store import StateStore
    from settings import Settings

MOST_NOTE = 200
token = typer.Typer(help="Tokens of the HTTP API.", no_args_is_help=True, rich_markup_mode=None)
state = typer.Typer(help="The store that keeps tokens.", no_args_is_help=True, rich_markup_mode=None)


def register(commands: typer.Typer) -> None:
    commands.add_typer(token, name="token")
    commands.add_typer(state, name="state")


@token.command()
def create(
    context: typer.Context,
    user: Annotated[str, typer.Option("--user", "-u", help="Whose; empty = yours.")] = "",
    role: Annotated[str, typer.Option(help="The most that it gives: user, staff, or scrape.")] = "user",
    days: Annotated[int, typer.Option(min=1, help="Days until it ends.")] = 90,
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a token. It is printed now and never again."""
    from data.state.tokens import TokenRole, create_token

    if role not in tuple(TokenRole):
        raise BadRequest(f"there is no role {role[:40]}", hint="Choose user, staff or scrape.")
    settings, me = who_asks(context)
    owner = user or (me.user if me else "")
    _check(owner, days, note, settings)
    _require_own(me, [owner])
    if role == TokenRole.SCRAPE and me is not None and not me.is_staff:
        raise BadRequest("a token with the role scrape is for cluster staff to make", hint="Ask them for one.")
    now = datetime.now(UTC).replace(microsecond=0)
    made, sent = create_token(
        _open(settings, writes=True),
        owner,
        TokenRole(role),
        now,
        now + timedelta(days=days),
        note=note,
        by=process_user(),
    )
    screen = context.obj.screen
    if as_json:
        return screen.show({"token": sent, "about": made}, lambda *_: (), True)  # type: ignore[no-any-return]
    screen.tell(f"A token of {owner} with the role {role}, until {made.expires_at:%Y-%m-%d %H:%M} UTC; keep it secret:")
    return screen.write(f"{sent}\n".encode())  # type: ignore[no-any-return]


@token.command("list")
def list_all(context: typer.Context, user: UserOption = None, as_json: AsJson = False) -> None:
    """List tokens, without their secrets."""
    from data.state.tokens import list_tokens
    from terminal.tokens import token_lines

    settings, me = who_asks(context)
    users = user or ([] if me is None or me.is_staff else [me.user])
    _require_own(me, users)
    found = list_tokens(_open(settings), users)
    now = datetime.now(UTC)
    context.obj.screen.show(found, lambda rows, width: token_lines(rows, now, width), as_json)


@token.command()
def revoke(
    context: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="From `fullwarp token list`.")],
) -> None:
    """End a token now."""
    from data.state.tokens import list_tokens, revoke_token

    settings, me = who_asks(context)
    store = _open(settings)
    if me is not None and not me.is_staff and token_id not in {one.id for one in list_tokens(store, [me.user])}:
        raise NotFound(f"There is no token {token_id[:40]}, or it is not yours", hint="See `fullwarp token list`.")
    found = revoke_token(store, token_id, datetime.now(UTC))
    context.obj.screen.tell(f"The token {found.id} of {found.user} is revoked.")


@state.command()
def upgrade(
    context: typer.Context,
    enforcement: Annotated[
        bool, typer.Option("--enforcement", help="The enforcer's store instead; run it as the enforcer's account.")
    ] = False,
) -> None:
    """Bring the store's tables up to this version."""
    from data.enforcement.store import ENFORCEMENT
    from data.state.store import upgrade_store
    from terminal.session import load

    asked: Asked = context.obj
    settings = load(asked.config, is_demo=asked.is_demo).settings
    if enforcement:
        before, after = upgrade_store(settings.enforcement, ENFORCEMENT)
    else:
        before, after = upgrade_store(settings.state)
    asked.screen.tell(f"The store has the schema {after} (before: {before or 'none'}).")


def _check(owner: str, days: int, note: str, settings: Settings) -> None:
    from identity import NAME

    if not NAME.fullmatch(owner):
        raise BadRequest(f"{owner[:40]!r} is not the name of a user", hint="Give one with --user.")
    if days > settings.api.longest_token_days:
        raise BadRequest(
            f"{days} days are too long", hint=f"At most {settings.api.longest_token_days} (api.longest_token_days)."
        )
    if len(note) > MOST_NOTE or not note.isprintable():
        raise BadRequest("the note is too long or not plain text", hint=f"At most {MOST_NOTE} characters in one line.")


def _require_own(me: Viewer | None, users: list[str]) -> None:
    if me is not None and not me.is_staff and users != [me.user]:
        raise BadRequest("you may make and see tokens of your own only", hint=f"Use --user {me.user}.")


def _open(settings: Settings, *, writes: bool = False) -> StateStore:
    return open_kept(settings, "tokens", "fullwarp token create", writes=writes)
