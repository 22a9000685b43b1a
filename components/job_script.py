"""A job's batch script: a panel that asks for it when it is unfolded, and what it then holds."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from components.elements import panel
from components.findings import verbatim_block
from data.queries.job_report import MOST_SCRIPT, JobScript

ASKED = "job-script-asked"


def script_panel() -> Component:
    """Folded, and empty until then: scripts hold keys, so none is sent that nobody asked for."""
    waiting = html.P("Asking Slurm ...", className="fw-quiet", role="status")
    fold = html.Details(
        [html.Summary("Show what was submitted"), html.Div(waiting, id="job-script", className="fw-script")],
        **{"data-asks": ASKED},
    )
    return panel("Script", [fold, dcc.Store(id=ASKED)], note="read from Slurm, kept nowhere")


def script_lines(found: JobScript) -> list[Component]:
    """The script as text with Copy, or why there is none."""
    if found.text is None:
        return script_missing(
            "Slurm has no script of this job.", "slurmdbd keeps them with AccountingStoreFlags=job_script."
        )
    cut = [html.P(f"Only the first {MOST_SCRIPT // 1024} KiB are shown.", className="fw-quiet")] if found.is_cut else []
    return [verbatim_block("job script", found.text), *cut]


def script_missing(title: str, hint: str) -> list[Component]:
    """What stands in the place of a script that cannot be had."""
    return [html.P([html.B(title), f" {hint}" if hint else ""], className="fw-quiet", role="status")]
