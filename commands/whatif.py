"""What rules would have done to the past, and what Slurm refuses at submission."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from commands.asked import AsJson
from data.errors import BadRequest, SettingsError


def register(commands: typer.Typer) -> None:
    commands.command("simulate")(simulate)
    commands.command("job-submit-lua")(write_job_submit)


def simulate(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="[RULE]...", help="Rules; none = all.")] = None,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="The same as RULE (may be repeated).")] = None,
    since: Annotated[str, typer.Option(help="Jobs that ended from here on: 30d, a date or an ISO time.")] = "30d",
    until: Annotated[str, typer.Option(help="And before this, in the same forms.")] = "now",
    threshold: Annotated[str, typer.Option(help="Another threshold of one rule: 9% or 0.09.")] = "",
    window: Annotated[str, typer.Option(help="Another window of one rule: 4h, 90m.")] = "",
    first_step: Annotated[str, typer.Option(help="Another first step of one idle rule; the others move along.")] = "",
    curve: Annotated[bool, typer.Option("--curve", help="Over thresholds and windows, or first steps.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replay rules over history: whom they would have warned and cancelled, and who became busy later."""
    from commands.history import seconds_of
    from data.moment import parse_edge
    from policy.rules import MINUTE
    from policy.whatif.variants import Changes
    from policy.whatif_queries import WhatIfAsk
    from policy.whatif_queries import simulate as ask
    from terminal.whatif import simulation_lines

    now, view = datetime.now(UTC), context.obj.view()
    given = (seconds_of(window, "--window"), seconds_of(first_step, "--first-step"))
    minutes = [None if seconds is None else seconds / MINUTE for seconds in given]
    wanted = WhatIfAsk(
        parse_edge("since", since, now, view.zone),
        parse_edge("until", until, now, view.zone),
        tuple(dict.fromkeys([*(names or []), *(rule or [])])),
        Changes(_ratio(threshold), *minutes),
        curve,
    )
    found = ask(view.viewer, view.sources, wanted)
    context.obj.screen.show(found, lambda answer, width: simulation_lines(answer, view.zone, width), as_json)


def _ratio(text: str) -> float | None:
    number, is_percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    if not number:
        return None
    wrong = BadRequest(f"--threshold {text[:40]!r} is no share above 0 and up to 1", hint="Such as 9% or 0.09.")
    try:
        share = float(number) / 100 if is_percent else float(number)
    except ValueError as err:
        raise wrong from err
    if not 0 < share <= 1:
        raise wrong
    return share


def write_job_submit(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option(help="Write this file; empty = print it.")] = None,
) -> None:
    """Write the job_submit.lua with which Slurm refuses GPU jobs beyond the limits of [submission]."""
    from policy.submission import job_submit_lua
    from terminal.session import load

    submission = load(context.obj.config, is_demo=context.obj.is_demo).settings.submission
    if not submission.is_set:
        raise SettingsError(
            "submission.limits is empty: there is nothing to refuse",
            hint="Such as [submission.limits.gpu] max_cores_per_gpu = 16; see docs/how-to/at-submission.md.",
        )
    text = job_submit_lua(submission).encode()
    if output is None:
        context.obj.screen.write(text)
        return
    try:
        output.write_bytes(text)
    except OSError as err:
        raise SettingsError(f"{output} cannot be written: {err.strerror}") from err
    context.obj.screen.tell(f"wrote {output}; it belongs beside slurm.conf, with JobSubmitPlugins=lua in there")
