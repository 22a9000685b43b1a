"""The last 30 days of a user from history, where there is one."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from zoneinfo import ZoneInfo

import dash

from components.history_user import UserMonth
from data.errors import CannotKnow
from data.findings.advice import advice
from data.queries import history
from data.queries.history import ReportQuery
from pages._answers import scope_of
from pages._request import backing, viewer

PAST = timedelta(days=30)


def user_month(user: str) -> UserMonth | None:
    """What history says of the last 30 days; None where none is kept, or nothing is in it yet. Raises as history."""
    own, who = backing(), viewer()
    clock = own.sources.clock()
    now = clock.replace(minute=clock.minute // 5 * 5, second=0, microsecond=0)
    query = ReportQuery(now - PAST, now, compare=True)
    key = ("user history", user, scope_of(who), query)
    with suppress(CannotKnow):
        found = own.sources.reports.get(key, lambda: history.user_history(who, own.sources, user, query))
        if not found.state.is_empty:
            return UserMonth(
                found,
                query,
                advice(own.settings.findings),
                ZoneInfo(own.settings.site_timezone),
                dash.get_relative_path("/"),
                is_self=user == who.user,
            )
    return None
