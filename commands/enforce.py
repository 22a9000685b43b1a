"""Acting on low use: one pass, or one every few minutes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from commands.asked import AsJson, Asked
from commands.history import seconds_of
from commands.stored import require_staff, who_asks
from data.errors import BadRequest, FullwarpError, SettingsError, SourceError

if TYPE_CHECKING:
    from data.check import Check
    from data.check.enforcement import EnforcerFacts
    from data.sources import Sources
    from policy.enforcer.report import PassReport
    from settings import Settings

WAIT_SECONDS = 60.0
MOST_WAIT_SECONDS = 86_400.0


def register(commands: typer.Typer) -> None:
    commands.command()(enforce)


def enforce(
    context: typer.Context,
    act: Annotated[bool, typer.Option("--act", help="Act, if policy.enforce = true too; else only say.")] = False,
    every: Annotated[str, typer.Option(help="Go on for ever, one pass every 2m, 30s or 1h.")] = "",
    wait: Annotated[float, typer.Option(help="How long to wait for another enforcer, in seconds.")] = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Warn and cancel jobs of low use by the site's rules. Without --act it says what would be done."""
    asked: Asked = context.obj
    settings, me = who_asks(context)
    require_staff(me, "fullwarp efficiency")
    seconds = seconds_of(every)
    if not 0 <= wait <= MOST_WAIT_SECONDS:
        raise BadRequest(f"--wait {wait:g} is no time to wait", hint=f"From 0 to {MOST_WAIT_SECONDS:g} seconds.")
    because = _why_dry(settings, act)
    if not because:
        _require_means(settings)
    sources = _sources(settings)
    zone = ZoneInfo(settings.site_timezone)
    if seconds is None:
        return _show(asked, _pass(sources, because, wait), zone, as_json)
    while True:
        _pass_in_a_row(asked, sources, because, wait, zone, as_json)
        time.sleep(seconds - time.time() % seconds)


def enforcer_checks(settings: Settings, now: datetime) -> Iterator[Check]:
    """What `fullwarp check` says of acting; nothing where nobody has begun to set it up."""
    from data.check.enforcement import EnforcerFacts, enforcement
    from policy.enforcer.stop import why_stopped
    from policy.rules import rules_of

    acting = tuple(rule.name for rule in rules_of(settings.policy) if rule.acts)
    facts = EnforcerFacts(acting, stopped=why_stopped(settings.policy))
    if settings.enforcement.is_set:
        facts = _with_store(settings, facts)
    if settings.enforcement.is_set or settings.policy.enforce:
        facts = replace(facts, exemptions_error=_exemptions_error(settings, now))
    if settings.mail.is_set and (settings.policy.enforce or settings.enforcement.is_set):
        facts = replace(facts, mail_error=_mail_error(settings))
    yield from enforcement(settings, facts, now)


def _with_store(settings: Settings, facts: EnforcerFacts) -> EnforcerFacts:
    from data.enforcement.opened import OpenedEnforcement
    from policy.enforcer.last_pass import last_pass

    try:
        store = OpenedEnforcement().store(settings.enforcement)
        if store is None:
            return facts
        with store.connection() as connection:
            return replace(facts, last_pass=last_pass(connection))
    except FullwarpError as err:
        return replace(facts, store_error=str(err))


def _exemptions_error(settings: Settings, now: datetime) -> str:
    from data.state.opened import OpenedState
    from policy.exemptions import exemptions_for_acts

    try:
        exemptions_for_acts(settings, OpenedState(), now)
    except FullwarpError as err:
        return f"{err} ({err.hint})" if err.hint else str(err)
    return ""


def _mail_error(settings: Settings) -> str:
    from policy.actions.mail import Mailer
    from policy.actions.outcome import Refused
    from policy.notices import check_templates

    try:
        Mailer(settings.mail).check()
        check_templates(settings)
    except (Refused, FullwarpError) as err:
        return str(err)
    return ""


def _why_dry(settings: Settings, act: bool) -> str:
    """Why nothing is done; "" = what is due is done."""
    missing = [] if act else ["--act is not given"]
    return " and ".join([*missing, *([] if settings.policy.enforce else ["policy.enforce is false"])])


def _require_means(settings: Settings) -> None:
    """Raise SettingsError where acting could not be written down, or nobody told."""
    from policy.notices import check_templates

    if not settings.enforcement.is_set:
        raise SettingsError(
            "nothing is kept of acts: enforcement.directory and enforcement.url are empty",
            hint='Set it, such as [enforcement] directory = "/var/lib/fullwarp-enforce".',
        )
    if not settings.mail.is_set:
        raise SettingsError("mail.host is empty, and no step is taken without its mail", hint="Set [mail].")
    check_templates(settings)


def _sources(settings: Settings) -> Sources:
    """Sources that share no picture: what others could write to a cache must not lead to an act."""
    from data.sources import open_sources
    from settings import CacheSettings

    return open_sources(settings.model_copy(update={"cache": CacheSettings(kind="memory")}))


def _pass(sources: Sources, because: str, wait: float) -> PassReport:
    from data.enforcement.store import ENFORCEMENT
    from data.state.store import open_store
    from policy.actions.outward import Acts
    from policy.enforcer.enforce import dry_pass
    from policy.enforcer.enforce import enforce as act_now
    from policy.enforcer.lock import enforcing
    from policy.enforcer.looking import LiveLooking
    from policy.enforcer.passing import Passing

    settings, looking = sources.settings, LiveLooking(sources)
    if because:
        return dry_pass(sources, looking, because)
    store = open_store(settings.enforcement, writes=True, kind=ENFORCEMENT)
    if store is None:
        raise SettingsError("there is no enforcement store")
    try:
        with enforcing(store, wait) as lock:
            return act_now(Passing(settings, looking, store, lock, Acts(settings, sources.scheduler)))
    finally:
        store.close()


def _show(asked: Asked, report: PassReport, zone: ZoneInfo, as_json: bool) -> None:
    from terminal.enforcing import pass_lines

    asked.screen.show(report, lambda found, width: pass_lines(found, zone, width), as_json)
    if report.faults:
        raise SourceError("; ".join(report.faults), hint="What could not be done is tried again in the next pass.")


def _pass_in_a_row(asked: Asked, sources: Sources, because: str, wait: float, zone: ZoneInfo, as_json: bool) -> None:
    """A pass that fails for a reason outside is said, and the next one tried."""
    from data.history.lease import HeldByAnother

    fresh = replace(sources, recent=type(sources.recent)())
    try:
        _show(asked, _pass(fresh, because, wait), zone, as_json)
    except (SourceError, HeldByAnother) as err:
        asked.screen.tell(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {err}" + (f" ({err.hint})" if err.hint else ""))
