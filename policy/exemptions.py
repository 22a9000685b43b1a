"""Exemptions that people make: checked when they are made, read where jobs are judged.

An exemption can only make an act less likely. So whoever acts must be able to read them all: `exemptions_for_acts`
raises where the store cannot be read, and then nothing is acted on. Who only shows verdicts goes on and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from data.errors import BadRequest, FullwarpError, SettingsError
from data.exemption import KINDS, KeptExemption
from data.model import SourceState
from data.slurm.job_ids import job_id, written
from data.sources import Sources
from data.state.opened import OpenedState, store_down
from policy.rules import Exemption, rules_of
from policy.simulated import is_simulated, simulated_exemptions
from settings import PolicySettings, Settings

if TYPE_CHECKING:
    from data.state.store import StateStore

NAME = "exemptions"
MOST_NAME, MOST_REASON = 200, 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """An exemption to make: of what, from which rule ("" = all), until when, and why."""

    kind: str
    name: str
    until: datetime
    reason: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class KeptNow:
    """The exemptions that count now. `source` is the store's state while it cannot be read."""

    rows: tuple[KeptExemption, ...] = ()
    source: SourceState | None = None


def make_exemption(store: StateStore, wanted: Wanted, policy: PolicySettings, by: str, now: datetime) -> KeptExemption:
    """Check and keep an exemption. Raises BadRequest that names the field that is wrong."""
    from data.state.exemptions import add_exemption

    _check(wanted, policy, now)
    name, reason = wanted.name.strip(), wanted.reason.strip()
    name = _job_name(name) if wanted.kind == "job" else name
    return add_exemption(store, wanted.kind, name, wanted.rule, reason, until=wanted.until, by=by, now=now)


def _check(wanted: Wanted, policy: PolicySettings, now: datetime) -> None:
    known = [rule.name for rule in rules_of(policy)]
    longest = timedelta(days=policy.longest_exemption_days)
    if wanted.kind not in KINDS:
        raise BadRequest(f"kind: {wanted.kind[:40]!r} cannot be exempt", hint=f"Choose one of {', '.join(KINDS)}.")
    if not _is_line(wanted.name, MOST_NAME):
        raise BadRequest("name: it is empty, too long or not plain text", hint=f"At most {MOST_NAME} characters.")
    if not _is_line(wanted.reason, MOST_REASON):
        raise BadRequest(
            "reason: it is empty, too long or not plain text", hint=f"One line of at most {MOST_REASON} characters."
        )
    if wanted.rule and wanted.rule not in known:
        names = ", ".join(known) or "none"
        raise BadRequest(f"rule: there is no rule {wanted.rule[:40]}", hint=f"The rules are {names}; empty = all.")
    if wanted.until <= now:
        raise BadRequest(f"until: {wanted.until:%Y-%m-%d %H:%M} UTC has passed", hint="Give a time that is to come.")
    if wanted.until - now > longest:
        raise BadRequest(
            f"until: {wanted.until:%Y-%m-%d} is too far away",
            hint=f"At most {policy.longest_exemption_days:g} days (policy.longest_exemption_days); make it again then.",
        )


def _job_name(name: str) -> str:
    """A job's id as Slurm writes it. Raises BadRequest for what no job is called."""
    wanted = job_id(name)
    if isinstance(wanted.task, str):
        raise BadRequest(
            f"name: {name[:40]!r} are several jobs", hint=f"Exempt one task, or all of them by {wanted.job}."
        )
    return written(wanted)


def _is_line(text: str, most: int) -> bool:
    return bool(text.strip()) and len(text) <= most and text.isprintable()


def exemptions_now(sources: Sources) -> KeptNow:
    """What counts now, for showing. A store that cannot be read is said and hides no verdict."""
    if is_simulated(sources) and not sources.settings.state.is_set:
        return KeptNow(simulated_exemptions(sources.settings, sources.clock()))
    try:
        return KeptNow(_active(sources.state, sources.settings, sources.clock()))
    except FullwarpError as err:
        return KeptNow(source=store_down(NAME, sources.settings.state, err))


def exemptions_for_acts(settings: Settings, opened: OpenedState, now: datetime) -> tuple[Exemption, ...]:
    """What counts now, for acting. Raises FullwarpError where it cannot be told: then nothing may be acted on.

    A store that is set and not there yet is an error too: a wrong path must not look like "nobody is exempt".
    """
    if settings.state.is_set and opened.store(settings.state) is None:
        raise SettingsError(
            f"the store of exemptions is not there: {settings.state.directory}",
            hint="Make it once, as the account of `fullwarp serve`: fullwarp state upgrade",
        )
    return as_rules(_active(opened, settings, now))


def _active(opened: OpenedState, settings: Settings, now: datetime) -> tuple[KeptExemption, ...]:
    """Nothing where no store is set, or where nothing was ever written to it."""

    def active(store: StateStore) -> tuple[KeptExemption, ...]:
        from data.state.exemptions import active_exemptions

        return () if store.revision() is None else active_exemptions(store, now)

    return opened.read(settings.state, active) or ()


def as_rules(rows: Iterable[KeptExemption]) -> tuple[Exemption, ...]:
    """As the rules take them."""
    return tuple(Exemption(one.kind, one.name, one.until, one.reason, one.rule) for one in rows)
