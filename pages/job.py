"""One job: what it uses of what it holds, over time and per GPU, and what to change."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

import dash
from dash import ClientsideFunction, Input, Output, State, clientside_callback
from dash.development.base_component import Component

from components.job_page import JobParts, job_page, job_parts
from components.job_script import ASKED, script_lines, script_missing
from components.page_states import isolated, not_there, unavailable
from components.shell import frame_data
from data.errors import BadRequest, CannotKnow, FullwarpError, NotFound
from data.queries.job_context import nearest
from data.queries.job_report import job_script
from data.queries.jobs import Found
from data.queries.live import snapshot
from pages._frame import framed
from pages._job_answer import job_view
from pages._request import backing, viewer


def _title(job_id: str = "") -> str:
    return f"Job {unquote(job_id)[:40]} - Fullwarp"


dash.register_page(__name__, path_template="/jobs/<job_id>", title=_title)


def layout(job_id: str = "", **query: str) -> Component:
    """The page with its first data, or the same friendly page for what is not there and what may not be seen."""
    own, base, asked = backing(), dash.get_relative_path("/"), unquote(job_id)
    try:
        view = job_view(viewer(), own.sources, asked, query, base, own.verdicts.newest(viewer(), own.sources))
    except (NotFound, BadRequest) as err:
        return _not_there(asked, err, base)
    except FullwarpError as err:
        staff = [str(err), err.hint] if viewer().is_staff else ["Slurm does not answer now."]
        return unavailable("Job", "The job cannot be read now", staff)
    return job_page(view, refresh_seconds=own.settings.refresh_seconds)


def _not_there(asked: str, err: FullwarpError, base: str) -> Component:
    frame: dict[str, Any] | None = None
    near: tuple[Found, ...] = ()
    with suppress(FullwarpError):
        near = nearest(viewer(), backing().sources, asked)
        near = tuple(hit for hit in near if hit.kind == "job") if asked.isdigit() else near  # a number means no node
        frame = frame_data(snapshot(viewer(), backing().sources))
    who = f"You are signed in as {viewer().user}."
    if isinstance(err, BadRequest):
        home = ("Find it in the list", f"{base}jobs?q={quote(asked[:100])}")
        return not_there("Job", str(err), [err.hint], near, base, frame, home)
    lines = ["It does not exist, or you may not see it.", who, err.hint]
    return not_there(
        "Job",
        isolated(f"There is no job {asked[:60]} to see", asked[:60]),
        lines,
        near,
        base,
        frame,
        ("Jobs", f"{base}jobs"),
    )


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("job-head", "children"),
    Output("job-banner", "children"),
    Output("job-meters", "children"),
    Output("job-chart-note", "children"),
    Output("job-series", "data"),
    Output("job-more", "children"),
    Output("job-chart-panel", "hidden"),
    Output("job-main", "children"),
    Output("job-side", "children"),
    Output("frame", "data", allow_duplicate=True),
    Output("job-version", "data"),
    Input("job-tick", "n_intervals"),
    Input("job-metric", "value"),
    Input("job-all", "data"),
    State("job-id", "data"),
    State("job-at", "data"),
    State("job-version", "data"),
    prevent_initial_call=True,
)
def refresh(_: int | None, metric: str | None, shows_all: str | None, job_id: str, at: str, seen: str) -> JobParts:
    """What a new picture, another metric or more GPUs change; nothing when all are the same."""
    given: dict[str, Any] = {"metric": metric, "all": shows_all, "at": at}
    query = {key: str(value) for key, value in given.items() if value}
    own = backing()
    judged = own.verdicts.newest(viewer(), own.sources)
    view = job_view(viewer(), own.sources, job_id, query, dash.get_relative_path("/"), judged)
    if view.version == seen:
        raise dash.exceptions.PreventUpdate
    return framed(job_parts(view))


@dash.callback(  # type: ignore[untyped-decorator]  # dash counts as untyped
    Output("job-script", "children"), Input(ASKED, "data"), State("job-id", "data"), prevent_initial_call=True
)
def show_script(_: float | None, job_id: str) -> list[Component]:
    """The script, asked for when its panel is unfolded."""
    try:
        return script_lines(job_script(viewer(), backing().sources, job_id))
    except CannotKnow as err:
        return script_missing(f"{err}.", err.hint)
    except FullwarpError as err:
        return script_missing("The script cannot be read now.", str(err) if viewer().is_staff else "")


clientside_callback(ClientsideFunction("fw", "drawCharts"), Output("job-drawn", "data"), Input("job-series", "data"))
clientside_callback(
    ClientsideFunction("fw", "writeJobUrl"),
    Input("job-metric", "value"),
    Input("job-all", "data"),
    prevent_initial_call=True,
)
