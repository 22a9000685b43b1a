"""What stands where history has nothing to show, or not all: why, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.elements import age, banner, panel_state, try_again
from components.findings import code_block
from components.history_address import HistoryAddress, go
from components.history_words import listed
from data.errors import CannotKnow, FullwarpError
from data.queries.history import HistoryState, Report, ReportQuery
from data.words import count

OLD_AFTER = timedelta(hours=3)
COLLECT_LINES = (
    "# as root, or as the account that may read everybody's jobs",
    "fullwarp collect --since 90d",
    "fullwarp collect --every 1m",
)
SETTINGS_LINES = ("[history]", 'directory = "/var/lib/fullwarp/history"')


def no_history(*, is_staff: bool, is_kept: bool) -> Component:
    """The page of a site without history: how to begin. `is_kept` = a folder is there, and nothing of it."""
    title = "No history of this time" if is_kept else "No history is kept here"
    why = (
        "Nothing of it was collected." if is_kept else "Finished jobs and their use are not collected on this cluster."
    )
    if not is_staff:
        return panel_state("empty", "none", title, [why, "The staff of the cluster can begin to collect it."])
    lines = [why, "Jobs that Slurm still knows, and use that the metrics server still has, come in at once."]
    state = panel_state("empty", "none", title, lines)
    blocks = [] if is_kept else [code_block("/etc/fullwarp/fullwarp.toml", SETTINGS_LINES)]
    return html.Div([state, html.Div([*blocks, code_block("shell", COLLECT_LINES)], className="fw-history-begin")])


def failed(err: FullwarpError, *, is_staff: bool) -> Component:
    """History is kept and does not answer."""
    lines = [str(err), err.hint] if is_staff else ["The history cannot be read now."]
    return panel_state("bad", "bad", "Not available", [line for line in lines if line], [try_again()])


def is_not_kept(err: FullwarpError | None) -> bool:
    """Whether the error says that no history is kept at all."""
    return isinstance(err, CannotKnow)


def nothing_matches(address: HistoryAddress, *, is_staff: bool, user: str) -> Component:
    """No job that the viewer may see fits: the same words whether others exist or not."""
    lines = ["No job of this range fits what is chosen."]
    if not is_staff:
        lines.append(f"You are signed in as {user}, and see your own jobs and those of accounts that you coordinate.")
    clear = go("Clear all filters", HistoryAddress(address.path).href(), className="fw-button")
    return panel_state("empty", "none", "No GPU-hours here", lines, [clear])


def being_made(state: HistoryState) -> Component:
    """Nothing of the range is there yet, and the answer itself says what is going on."""
    return panel_state("wait", "info", "Nothing of this range yet", [*state.notes, "This page looks again by itself."])


def banners(state: HistoryState, query: ReportQuery, now: datetime, *, is_staff: bool) -> list[Component]:
    """The worst one: files that cannot be read, then age, then what the answer itself says of its gaps."""
    found = [_damaged(state, is_staff=is_staff), _old(state, query, now), _gaps(state)]
    return [one for one in found if one is not None][:1]


def is_comparable(report: Report) -> bool:
    """Whether history holds the whole time before the range: else a change would say more of it than of the cluster."""
    before, query = report.before, report.query
    return before is not None and before.first is not None and before.first <= _day(query.since - query.length)


def _day(moment: datetime) -> date:
    """The first UTC day of which something can lie after the moment; one day is given for a quiet first one."""
    return moment.astimezone(UTC).date() + timedelta(days=1)


def waiting_words(query: ReportQuery, ready: int, parts: int) -> str:
    """What is going on while a long range is added up."""
    days = max(1, round(query.length.total_seconds() / 86_400))
    return f"{count(days, 'day')} are being added up, {ready} of {parts} parts ready"


def _damaged(state: HistoryState, *, is_staff: bool) -> Component | None:
    if not state.damaged_files:
        return None
    files: list[Any] = [html.Br(), html.Code(listed(state.damaged, 4))] if is_staff and state.damaged else []
    title = f"{count(state.damaged_files, 'file')} of the history cannot be read."
    lines: Sequence[Any] = ["The numbers are those of the others.", *files]
    return banner("bad", "bad", title, lines)


def _old(state: HistoryState, query: ReportQuery, now: datetime) -> Component | None:
    if state.collected_at is None or now - state.collected_at < OLD_AFTER or query.until < now - OLD_AFTER:
        return None
    title = ["History: ", age(state.collected_at), " old."]
    return banner("waste", "clock", title, ["What happened since was not collected; see Health."])


def _gaps(state: HistoryState) -> Component | None:
    return banner("info", "info", state.notes[0], list(state.notes[1:])) if state.notes else None
