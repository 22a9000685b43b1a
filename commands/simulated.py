"""The simulated cluster as series for a real Prometheus."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer


def register(commands: typer.Typer) -> None:
    commands.command("demo-series")(demo_series)


def demo_series(
    context: typer.Context,
    since: Annotated[str, typer.Option(help="Begin of the span, such as -2h or 2026-03-01.")] = "-1h",
    until: Annotated[str, typer.Option(help="End of the span.")] = "now",
    node_count: Annotated[int | None, typer.Option("--nodes", min=1, help="GPU nodes; empty = the demo's.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Write one file per UTC day here, for promtool.")] = None,
    remote_write: Annotated[str, typer.Option(help="Send to this address: http://host:9090/api/v1/write.")] = "",
) -> None:
    """Write the simulated cluster's series as OpenMetrics text, or send them to a Prometheus."""
    from data.moment import parse_moment
    from data.settings_file import demo_settings
    from data.simulation import World
    from data.simulation.openmetrics import openmetrics
    from terminal.simulating import span, write_folder

    now = datetime.now(UTC)
    window = span(parse_moment(since, now), parse_moment(until, now), now)
    world = World(demo_settings().demo.seed, node_count)
    if remote_write:
        from data.simulation.remote_write import remote_write as send

        context.obj.screen.tell(f"sent {send(world, window, remote_write):,} samples")
    elif folder is not None:
        for path, count in write_folder(world, window, folder):
            context.obj.screen.tell(f"wrote {path}: {count:,} samples")
    else:
        openmetrics(world, window, context.obj.screen.out)
