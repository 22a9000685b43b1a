"""The page of jobs put together: filters, the table, what is empty or could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dash import dcc, html
from dash.development.base_component import Component

from components.data_table import data_table, pager
from components.elements import ANY, Choice, clear_all, icon, panel_state, select_filter, switch, text_filter, try_again
from components.job_rows import COLUMNS, table_rows
from components.job_words import are_jobs_known, state_word
from components.shell import frame_data
from components.sources_banner import ignored_banner, past_banner, sources_banner
from data.model import SourceCondition
from data.queries.job_list import JobList, ListQuestion, Show
from data.words import count, number

FILTERS = ("state", "user", "account", "partition")
RANGES: tuple[Choice, ...] = (("1", "1 d"), ("3", "3 d"), ("7", "7 d"))
_TITLES = {"state": "State", "user": "User", "account": "Account", "partition": "Partition"}
_SHOWN = {Show.RUNNING: "running", Show.PENDING: "waiting", Show.FINISHED: "finished"}


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """One answer for one viewer. `chosen` holds the filters by their name in the address, `base` the app's prefix."""

    found: JobList
    asked: ListQuestion
    chosen: Mapping[str, str]
    ignored: Sequence[str]
    is_staff: bool
    base: str
    export_href: str
    now_href: str

    @property
    def version(self) -> str:
        asked = self.asked
        order = (
            asked.show,
            str(asked.days),
            asked.order,
            str(asked.offset),
            str(self.found.unread),
            *self.chosen.values(),
        )
        return "|".join((self.found.snapshot.version, *order))


class ListParts(NamedTuple):
    """What a refresh replaces, in the order of the callback's outputs."""

    note: Any
    banner: Any
    counts: Any
    filters: Any
    ranges_hidden: bool
    table: Any
    pager: Any
    export: str
    unread: int
    frame: Any
    version: str


def list_parts(answer: ListAnswer) -> ListParts:
    """Every part of the page that depends on the data."""
    found, asked = answer.found, answer.asked
    noun = "job" if found.total == 1 else "jobs"
    noun += ", arrays counted once" if asked.show is Show.PENDING and found.pending > found.total else ""
    return ListParts(
        note=_note(answer),
        banner=_banner(answer),
        counts=_counts(found, asked.show, answer.base),
        filters=[*(_filter(key, answer) for key in FILTERS), clear_all("jobs")],
        ranges_hidden=asked.show is not Show.FINISHED,
        table=_table(answer),
        pager=pager(found.total, asked.offset, asked.limit, "jobs-offset", noun),
        export=answer.export_href,
        unread=found.unread,
        frame=frame_data(found.snapshot),
        version=answer.version,
    )


def jobs_page(answer: ListAnswer, *, refresh_seconds: float) -> Component:
    """The whole page with its first data."""
    parts, asked = list_parts(answer), answer.asked
    filters = html.Div(
        parts.filters, id="jobs-filters", className="fw-filters", role="group", **{"aria-label": "Filters"}
    )
    head = [
        html.Div(parts.counts, id="jobs-counts"),
        html.Div(
            switch("jobs-days", "Ended in the last", RANGES, str(asked.days)),
            id="jobs-ranges",
            hidden=parts.ranges_hidden,
        ),
        text_filter("jobs-text", answer.chosen.get("q", ""), hint="id, name, user"),
        html.A(
            [icon("download"), "CSV"], id="jobs-export", href=parts.export, className="fw-button", download="jobs.csv"
        ),
    ]
    stores = {"show": asked.show.value, "sort": asked.sort, "offset": str(asked.offset), "version": parts.version}
    at = asked.at.isoformat() if asked.at else ""
    return html.Div(
        [
            html.Div(
                [html.H1("Jobs"), html.Span(parts.note, id="jobs-note", className="fw-note"), filters],
                className="fw-head",
            ),
            html.Div(parts.banner, id="jobs-banner"),
            html.Section(
                [
                    html.H2("List of jobs", className="fw-sr"),
                    html.Div(head, className="fw-panel-head fw-list-head"),
                    html.Div(parts.table, id="jobs-table"),
                    html.Div(parts.pager, id="jobs-pager"),
                ],
                className="fw-panel",
            ),
            *(dcc.Store(id=f"jobs-{name}", data=value) for name, value in stores.items()),
            *(dcc.Store(id=f"jobs-{key}", data=answer.chosen.get(key, "")) for key in FILTERS),
            dcc.Store(id="jobs-at", data=at),
            dcc.Store(id="frame", data=parts.frame),
            dcc.Store(id="jobs-unread", data=parts.unread),
            dcc.Store(id="jobs-step", data=0),
            dcc.Store(id="jobs-read-on"),
            dcc.Interval(id="jobs-tick", interval=round(refresh_seconds * 1000), disabled=bool(at)),
        ],
        className="fw-ticking fw-jobs",
        **{"data-tick": "jobs-tick"},
    )


def _note(answer: ListAnswer) -> str:
    found, show = answer.found, answer.asked.show
    if show is Show.FINISHED:
        return f"{count(found.total, 'job')} ended in the last {count(answer.asked.days, 'day')}"
    if not are_jobs_known(found.snapshot):
        return "not known"
    return f"{count(found.running, 'job')} running, {number(found.pending)} waiting"


def _banner(answer: ListAnswer) -> list[Component]:
    snapshot = answer.found.snapshot
    main = past_banner(snapshot, answer.now_href) or sources_banner(snapshot, is_staff=answer.is_staff)
    return [part for part in (ignored_banner(answer.ignored), main, _unknown(answer)) if part is not None]


def _unknown(answer: ListAnswer) -> Component | None:
    """Days of finished jobs that are not read yet, or could not be."""
    said = list(answer.found.unknown) if answer.asked.show is Show.FINISHED else []
    if answer.found.unread:
        said.insert(0, f"Reading Slurm's accounting: {count(answer.found.unread, 'older day')} still to come.")
    if not said:
        return None
    return html.P([icon("partial", "none"), " ".join(said)], className="fw-remark", role="status")


def _counts(found: JobList, show: Show, base: str) -> Component:
    """The switch between the three lists, as buttons with what they hold."""
    is_known = are_jobs_known(found.snapshot)
    rows = (
        (Show.RUNNING, "Running", found.running),
        (Show.PENDING, "Waiting", found.pending),
        (Show.FINISHED, "Finished", None),
    )
    buttons = [
        html.Button(
            [label, *([html.Span(number(amount), className="fw-unit")] if amount is not None and is_known else [])],
            type="button",
            **{"data-set": "jobs-show", "data-value": one.value, "aria-pressed": str(one is show).lower()},
        )
        for one, label, amount in rows
    ]
    return html.Div(buttons, className="fw-segments", role="group", **{"aria-label": "Which jobs"})


def _filter(key: str, answer: ListAnswer) -> Component:
    """A chosen value that no job has now stays to choose: else it could not be seen nor taken back."""
    value = answer.chosen.get(key, "")
    names = sorted({*answer.found.options.get(key, ()), *([value] if value else [])})
    choices = [(name, state_word(name) if key == "state" else name) for name in names]
    return select_filter(f"jobs-pick-{key}", _TITLES[key], choices, value or ANY, "all")


def _table(answer: ListAnswer) -> Component:
    found, show = answer.found, answer.asked.show
    if found.error is not None:
        lines = [
            str(found.error) if answer.is_staff else "Slurm's accounting does not answer.",
            "Running and waiting jobs are shown.",
        ]
        return panel_state("bad", "bad", "Finished jobs are not available", lines, [try_again()])
    if found.total == 0:
        return _empty(answer)
    rows = table_rows(found.rows, show, answer.base)
    caption = f"Jobs, {_SHOWN[show]}"
    return data_table(COLUMNS[show], rows, caption=caption, order=answer.asked.order, store="jobs-sort")


def _set_to(answer: ListAnswer) -> str:
    """ "state “Failed” and text “train”"."""
    set_ = {key: value[:40] for key, value in answer.chosen.items() if value}
    words = [f"state “{state_word(set_.pop('state'))}”"] if "state" in set_ else []
    words += [f"{'text' if key == 'q' else key} “{value}”" for key, value in set_.items()]
    return " and ".join(words)


def _empty(answer: ListAnswer) -> Component:
    show = answer.asked.show
    down = [
        one for one in answer.found.snapshot.sources if one.name == "slurm" and one.condition is SourceCondition.DOWN
    ]
    if down and show is not Show.FINISHED:
        return panel_state(
            "bad",
            "bad",
            "Jobs are not available",
            ["Slurm does not answer, and nothing of it is known yet."],
            [try_again()],
        )
    if any(answer.chosen.values()):
        clear = html.Button("Clear all filters", type="button", className="fw-button", **{"data-clear-jobs": "1"})
        said = f"No {_SHOWN[show]} job has {_set_to(answer)}."
        return panel_state("empty", "none", "No job matches", [said], [clear])
    title = {Show.RUNNING: "No job is running", Show.PENDING: "No job is waiting", Show.FINISHED: "No job ended"}[show]
    whom = "on this cluster" if answer.is_staff else "among those that you may see"
    return panel_state("empty", "none", title, [f"There is none {whom} at this time."])
