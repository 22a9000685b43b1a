"""Low use: the verdicts, and the recording rules that hold them for others."""

from __future__ import annotations

from typing import Annotated

import typer

from commands.asked import AsJson


def register(commands: typer.Typer) -> None:
    for command in (efficiency, rules):
        commands.command()(command)


def efficiency(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(metavar="[JOBID]", help="Only this running job; empty = all.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say which running jobs use their GPUs too little, and what follows."""
    from policy.queries import verdict, verdicts
    from terminal.efficiency import job_lines, list_lines
    from terminal.session import require_slurm

    view = context.obj.view()
    if job_id:
        one = verdict(view.viewer, view.sources, job_id)
        context.obj.screen.show(one, lambda found, width: job_lines(found, view.zone, width), as_json)
        return
    every = verdicts(view.viewer, view.sources)
    require_slurm(every.sources, is_empty=not every.running_gpu_jobs)
    context.obj.screen.show(every, lambda found, width: list_lines(found, view.zone, width), as_json)


def rules(context: typer.Context) -> None:
    """Print Prometheus recording rules of the verdicts for this site's exporter and labels."""
    from data.metrics.prometheus_recording import recording_rules
    from policy.rules import rules_of
    from terminal.session import load

    settings = load(context.obj.config, is_demo=context.obj.is_demo).settings
    windows = [(rule.name, rule.windows[0]) for rule in rules_of(settings.policy)]
    context.obj.screen.write(recording_rules(settings, windows).encode())
