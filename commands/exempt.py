"""Time-limited exemptions from the rules for low use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from commands.asked import AsJson, Asked
from commands.stored import open_kept, process_user, require_staff, who_asks
from data.errors import FullwarpError
from data.exemption import KINDS, KeptExemption

if TYPE_CHECKING:
    from data.state.store import StateStore
    from settings import Settings

OWN = "fullwarp exempt list"
exempt = typer.Typer(
    help="Time-limited exemptions from the rules for low use.", no_args_is_help=True, rich_markup_mode=None
)


def register(commands: typer.Typer) -> None:
    commands.add_typer(exempt, name="exempt")


@exempt.command()
def add(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or the job's id.")],
    reason: Annotated[str, typer.Option(help="Why; the page and the verdicts show it.")],
    until: Annotated[str, typer.Option(help="Its end: 2026-12-24, 2026-12-24T18:00 or a distance such as 14d.")],
    rule: Annotated[str, typer.Option(help="Only from this rule; empty = from every rule.")] = "",
    as_json: AsJson = False,
) -> None:
    """Exempt somebody or something until a time, from now on."""
    from data.moment import parse_end
    from policy.exemptions import Wanted, make_exemption
    from terminal.exemptions import made_line

    settings, me = who_asks(context)
    require_staff(me, OWN)
    now, zone = datetime.now(UTC), ZoneInfo(settings.site_timezone)
    wanted = Wanted(kind, name, parse_end("--until", until, now, zone), reason, rule)
    made = make_exemption(_open(settings, writes=True), wanted, settings.policy, process_user(), now)
    context.obj.screen.show(made, lambda one, _: [made_line(one, zone)], as_json)
    if doubt := _doubt(settings, made):
        context.obj.screen.tell(doubt)


@exempt.command("list")
def list_all(
    context: typer.Context,
    ended: Annotated[bool, typer.Option("--ended", help="Those that have ended or were removed, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List exemptions, with the GPU-hours held under each where the cluster can be asked."""
    from data.state.exemptions import all_exemptions
    from policy.exempted import exemptions
    from settings import IdentityKind
    from terminal.exemptions import held_lines, kept_lines

    asked: Asked = context.obj
    settings, me = who_asks(context)
    now, zone = datetime.now(UTC), ZoneInfo(settings.site_timezone)
    if ended or settings.identity.kind is IdentityKind.HEADER:
        require_staff(me, OWN)
        rows = [one for one in all_exemptions(_open(settings)) if ended or one.is_active(now)]
        return asked.screen.show(rows, lambda found, width: kept_lines(found, zone, now, width), as_json)
    view = asked.view()
    found = exemptions(view.viewer, view.sources)
    return asked.screen.show(found, lambda answer, width: held_lines(answer, zone, width), as_json)


@exempt.command()
def remove(
    context: typer.Context,
    exemption_id: Annotated[str, typer.Argument(metavar="ID", help="From `fullwarp exempt list`.")],
) -> None:
    """End an exemption now. It stays in the list of ended ones."""
    from data.state.exemptions import end_exemption
    from terminal.exemptions import ended_line

    settings, me = who_asks(context)
    require_staff(me, OWN)
    found = end_exemption(_open(settings), exemption_id, process_user(), datetime.now(UTC))
    context.obj.screen.tell(ended_line(found))


def _doubt(settings: Settings, made: KeptExemption) -> str:
    """A word on a name that Slurm does not know: it is kept all the same, for the name may be one of tomorrow."""
    from data.sources import open_sources
    from policy.exempt_names import doubt_of
    from settings import CacheSettings

    try:
        scheduler = open_sources(settings.model_copy(update={"cache": CacheSettings(kind="memory")})).scheduler
        return doubt_of(scheduler, made.kind, made.name)
    except FullwarpError as err:
        return f"Whether Slurm knows the {made.kind} {made.name} could not be asked: {err}"


def _open(settings: Settings, *, writes: bool = False) -> StateStore:
    return open_kept(settings, "exemptions", "fullwarp exempt add", writes=writes)
