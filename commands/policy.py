"""Low use: the verdicts, and the recording rules that hold them for others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commands.asked import AsJson
from data.errors import BadRequest

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from policy.model import JobVerdict
    from policy.queries import VerdictList
    from terminal.remote import RemoteServer


def register(commands: typer.Typer) -> None:
    for command in (efficiency, rules):
        commands.command()(command)


def efficiency(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(metavar="[JOBID]", help="Only this running job; empty = all.")] = "",
    server: Annotated[
        str, typer.Option(envvar="FULLWARP_SERVER", help="Ask this Fullwarp server, such as https://host/.")
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token for --server; else FULLWARP_TOKEN is the token.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which running jobs use their GPUs too little, and what follows."""
    from data.known import require_slurm
    from terminal.efficiency import job_lines, list_lines

    screen = context.obj.screen
    if job_id:
        one, zone = _verdict(context, job_id, server, token_file)
        screen.show(one, lambda found, width: job_lines(found, zone, width), as_json)
        return
    every, zone = _verdicts(context, server, token_file)
    require_slurm(every.sources, is_empty=not every.running_gpu_jobs)
    screen.show(every, lambda found, width: list_lines(found, zone, width), as_json)


def _verdict(context: typer.Context, job_id: str, server: str, token: Path | None) -> tuple[JobVerdict, ZoneInfo]:
    if server:
        return _remote(context, server, token).verdict(job_id)
    from policy.queries import verdict

    view = context.obj.view()
    return verdict(view.viewer, view.sources, job_id), view.zone


def _verdicts(context: typer.Context, server: str, token: Path | None) -> tuple[VerdictList, ZoneInfo]:
    if server:
        return _remote(context, server, token).verdicts()
    from policy.queries import verdicts

    view = context.obj.view()
    return verdicts(view.viewer, view.sources), view.zone


def _remote(context: typer.Context, server: str, token: Path | None) -> RemoteServer:
    """No settings are read: the server has its own."""
    from terminal.remote import RemoteServer, read_token

    if context.obj.is_demo:
        raise BadRequest("--demo and --server exclude each other", hint="Leave one of them out (see FULLWARP_SERVER).")
    return RemoteServer(server, read_token(token, os.environ.get("FULLWARP_TOKEN", "")))


def rules(context: typer.Context) -> None:
    """Print Prometheus recording rules of the verdicts for this site's exporter and labels."""
    from data.metrics.prometheus_recording import recording_rules
    from policy.rules import rules_of
    from terminal.session import load

    settings = load(context.obj.config, is_demo=context.obj.is_demo).settings
    windows = [(rule.name, rule.windows[0]) for rule in rules_of(settings.policy)]
    context.obj.screen.write(recording_rules(settings, windows).encode())
