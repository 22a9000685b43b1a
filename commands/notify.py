"""Mails about what finished jobs held and did not use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from commands.asked import AsJson, Asked, UserOption
from commands.stored import require_staff, who_asks
from data.errors import BadRequest, SettingsError, SourceError, SourceUnreachable

if TYPE_CHECKING:
    from data.model import Viewer
    from data.state.store import StateStore
    from policy.actions.findings import Sent
    from policy.findings_plan import Plan
    from settings import Settings

LONGEST = 366.0


def register(commands: typer.Typer) -> None:
    commands.command()(notify)


def notify(
    context: typer.Context,
    act: Annotated[bool, typer.Option("--act", help="Send the mails; else only say which.")] = False,
    days: Annotated[float, typer.Option(help="Length of the range up to now, in days; 0 = notify.days.")] = 0.0,
    kind: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only this kind (may be repeated).")] = None,
    user: UserOption = None,
    as_json: AsJson = False,
) -> None:
    """Tell users what their finished jobs held and did not use, and staff all of it."""
    from terminal.notify import plan_lines

    asked: Asked = context.obj
    settings, me = who_asks(context)
    require_staff(me, "fullwarp report --by job")
    kinds, now = _kinds(settings, kind or ()), datetime.now(UTC)
    since = now - timedelta(days=_days(settings, days))
    if act:
        _require_means(settings)
    store = _store(settings, writes=act)
    try:
        found = _plan(settings, me, store, kinds, frozenset(user or ()), since, now)
        sent = _send(settings, store, found, now) if act and store is not None else None
    finally:
        if store is not None:
            store.close()
    plan, faults = (found, ()) if sent is None else (sent.plan, sent.faults)
    zone = ZoneInfo(settings.site_timezone)
    asked.screen.show(plan, lambda one, width: plan_lines(one, faults, zone, width, is_done=act), as_json)
    if faults:
        raise SourceError("; ".join(faults), hint="What was not mailed is tried again in the next run.")


def _plan(
    settings: Settings,
    me: Viewer | None,
    store: StateStore | None,
    kinds: tuple[str, ...],
    users: frozenset[str],
    since: datetime,
    now: datetime,
) -> Plan:
    """What is due. With the settings of a server, who may read its history asks as staff."""
    from data.model import Role, Viewer
    from data.queries.history.waste import waste
    from data.sources import open_sources
    from policy.actions.findings import told_before
    from policy.findings_plan import plan

    sources = open_sources(settings)
    if sources.demo_history is not None:
        sources.demo_history.is_patient = True
    viewer = me or Viewer("fullwarp", Role.STAFF)
    report = waste(viewer, sources, since, now, kinds, settings.notify.jobs, users)
    return plan(report, settings.notify, told_before(store), now)


def _send(settings: Settings, store: StateStore, found: Plan, now: datetime) -> Sent:
    from policy.actions.findings import FindingsPost
    from policy.actions.outcome import Refused

    try:
        return FindingsPost(settings, store, now).send(found)
    except Refused as err:
        raise SourceUnreachable(f"nobody was mailed: {err}", hint="See [mail]; the next run tries again.") from err


def _days(settings: Settings, asked: float) -> float:
    if asked == 0:
        return settings.notify.days
    if not 0 < asked <= LONGEST:
        raise BadRequest(f"--days {asked:g} is no length of a range", hint=f"At most {LONGEST:g}; 0 = notify.days.")
    return asked


def _kinds(settings: Settings, asked: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    known = tuple(settings.notify.kinds)
    for name in asked:
        if name not in known:
            raise BadRequest(f"there is no kind {name[:60]}", hint=f"The kinds are {', '.join(known)}.")
    return tuple(name for name in known if not asked or name in asked)


def _require_means(settings: Settings) -> None:
    """Raise SettingsError where mails could not be sent, or nobody would know who was told."""
    from policy.findings_mails import check_findings_templates

    if not settings.mail.is_set:
        raise SettingsError("mail.host is empty", hint="Set [mail]; see docs/how-to/mail.md.")
    if not settings.enforcement.is_set:
        raise SettingsError(
            "who was told is kept nowhere: enforcement.directory and enforcement.url are empty",
            hint='Set it, such as [enforcement] directory = "/var/lib/fullwarp-enforce".',
        )
    check_findings_templates(settings)


def _store(settings: Settings, *, writes: bool) -> StateStore | None:
    from data.enforcement.store import ENFORCEMENT
    from data.state.store import open_store

    return open_store(settings.enforcement, writes=writes, kind=ENFORCEMENT)
