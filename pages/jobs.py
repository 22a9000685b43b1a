"""Jobs: running, waiting and finished, filtered, sorted and paged by the server."""

from __future__ import annotations

from typing import Any

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.jobs_list import FILTERS, ListAnswer, ListParts, jobs_page, list_parts
from components.page_states import unavailable
from data.errors import FullwarpError
from data.queries.job_list import job_list
from pages._frame import framed
from pages._job_export import add_export
from pages._jobs_address import AskedJobs, parse_jobs_address
from pages._request import backing, viewer

dash.register_page(__name__, path="/jobs", name="Jobs", title="Jobs - Fullwarp", icon="list", order=1)
add_export(dash.get_app().server, dash.get_app().config.routes_pathname_prefix)

STORES = tuple(Input(f"jobs-{name}", "data") for name in ("show", "sort", "offset", *FILTERS))
CONTROLS = (Input("jobs-days", "value"), Input("jobs-text", "value"))
NAMES = ("show", "sort", "offset", *FILTERS, "days", "q")


def layout(**query: str) -> Component:
    """The page with its first data."""
    own = backing()
    try:
        asked = parse_jobs_address(query, own.sources.clock(), own.settings.site_timezone)
        return jobs_page(_answer(asked), refresh_seconds=own.settings.refresh_seconds)
    except FullwarpError as err:
        return unavailable("Jobs", "The list cannot be made now", [str(err), err.hint])


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("jobs-note", "children"),
    Output("jobs-banner", "children"),
    Output("jobs-counts", "children"),
    Output("jobs-filters", "children"),
    Output("jobs-ranges", "hidden"),
    Output("jobs-table", "children"),
    Output("jobs-pager", "children"),
    Output("jobs-export", "href"),
    Output("jobs-unread", "data"),
    Output("frame", "data", allow_duplicate=True),
    Output("jobs-version", "data"),
    Input("jobs-tick", "n_intervals"),
    Input("jobs-step", "data"),
    *STORES,
    *CONTROLS,
    State("jobs-version", "data"),
    State("jobs-at", "data"),
    prevent_initial_call=True,
)
def refresh(_: int | None, __: int | None, *given: Any) -> ListParts:
    """What a new picture or another question changes; nothing when both are the same."""
    *values, seen, at = given
    query = {key: str(value) for key, value in zip((*NAMES, "at"), (*values, at), strict=True) if value}
    own = backing()
    answer = _answer(parse_jobs_address(query, own.sources.clock(), own.settings.site_timezone))
    if answer.version == seen:
        raise dash.exceptions.PreventUpdate
    return framed(list_parts(answer))


def _answer(asked: AskedJobs) -> ListAnswer:
    base = dash.get_relative_path("/")
    query = asked.query()
    return ListAnswer(
        found=job_list(viewer(), backing().sources, asked.question),
        asked=asked.question,
        chosen=asked.chosen,
        ignored=asked.ignored,
        is_staff=viewer().is_staff,
        base=base,
        export_href=f"{base}jobs.csv?{query}",
        now_href=f"{base}jobs",
    )


clientside_callback(ClientsideFunction("fw", "writeJobsUrl"), *STORES, *CONTROLS, prevent_initial_call=True)
# without an output, a clientside callback is not called for the first data
clientside_callback(
    ClientsideFunction("fw", "readOnJobs"), Output("jobs-read-on", "data"), Input("jobs-unread", "data")
)
