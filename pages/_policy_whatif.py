"""What the panel What if shows: nothing is read from the history before a rule is chosen."""

from __future__ import annotations

from datetime import datetime, timedelta

from dash.development.base_component import Component

from components.policy_address import PolicyAddress
from components.policy_whatif import whatif_closed, whatif_open, whatif_wrong
from data.errors import BadRequest, FullwarpError
from data.model import Viewer
from data.sources import Sources
from policy.rules import rules_of
from policy.whatif.variants import Changes
from policy.whatif_queries import WhatIfAsk, simulate

DAYS = timedelta(days=30)


def policy_whatif(viewer: Viewer, sources: Sources, address: PolicyAddress, base: str) -> list[Component]:
    """The panel; none for others than staff, and none at a past moment."""
    if not viewer.is_staff or address.value("at"):
        return []
    name = address.value("whatif")
    if not name:
        return [whatif_closed([rule.name for rule in rules_of(sources.settings.policy)], address)]
    try:
        return [whatif_open(simulate(viewer, sources, _asked(address, sources.clock())), address, base)]
    except FullwarpError as err:
        return [whatif_wrong([str(err), err.hint], address)]


def _asked(address: PolicyAddress, now: datetime) -> WhatIfAsk:
    """The days up to the last whole hour, so that the answer is kept for a while."""
    until = now.replace(minute=0, second=0, microsecond=0)
    changes = _changes(address.value("form"))
    return WhatIfAsk(until - DAYS, until, (address.value("whatif"),), changes, address.value("curve") == "yes")


def _changes(form: str) -> Changes:
    """Read "THRESHOLD/MINUTES" of a window, or the minutes of a first step."""
    threshold, slash, window = form.partition("/")
    try:
        if slash:
            return Changes(float(threshold), float(window))
        return Changes(first_step_minutes=float(form)) if form else Changes()
    except ValueError as err:
        raise BadRequest(f"form = {form[:40]!r} is none", hint="Such as 0.09/240, or 60 for an idle rule.") from err
