"""The `fullwarp` command: parse, ask, show. The only file that prints or exits; everything heavy is imported late."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from data.errors import FullwarpError, NotFound, SettingsError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from data.model import NodeFilter
    from data.queries.job_report import JobAnswer
    from settings import Settings
    from terminal.session import View

FINE, NO, WRONG = 0, 1, 2
PIPE_WIDTH = 250
SHORT_STATES = {"R": "RUNNING", "PD": "PENDING", "S": "SUSPENDED", "CG": "COMPLETING"}

commands = typer.Typer(
    name="fullwarp",
    help="Shows where a Slurm cluster's GPU-hours go, and why a job is slow or idle.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich's help alone costs half a second
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: ratios 0..1, seconds, bytes; null = not known.")]
At = Annotated[str, typer.Option("--at", help="A past moment: 2026-03-01T14:00, a date, -2h, yesterday 09:00.")]
UserOption = Annotated[list[str] | None, typer.Option("--user", "-u", help="Only this user's (may be repeated).")]
PartitionOption = Annotated[list[str] | None, typer.Option("--partition", "-p", help="Only this partition's.")]
StateOption = Annotated[list[str] | None, typer.Option("--state", "-t", help="Only in this state.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """The options before the command."""

    is_demo: bool
    config: Path | None

    def view(self, at: str = "") -> View:
        from terminal.session import open_view

        view = open_view(self.config, at, is_demo=self.is_demo)
        for ignored in view.ignored:
            _tell(f"ignored: {ignored}")
        return view


@commands.callback()
def options(
    context: typer.Context,
    demo: Annotated[bool, typer.Option("--demo", help="Use the simulated cluster; no settings are needed.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Settings file (TOML).")] = None,
) -> None:
    context.obj = Asked(demo, config)


@commands.command()
def demo(
    context: typer.Context,
    bind: Annotated[str, typer.Option(help="host:port to listen at; empty = serve.bind.")] = "",
) -> None:
    """Start the dashboard with the simulated cluster."""
    from data.settings_file import demo_settings

    _serve(demo_settings(bind))


@commands.command()
def serve(context: typer.Context) -> None:
    """Start the dashboard (behind a proxy that names the user)."""
    from data.check import Verdict, identity_checks
    from terminal.session import load, web_settings

    asked: Asked = context.obj
    settings = web_settings(load(asked.config, is_demo=asked.is_demo), is_demo=asked.is_demo)
    for found in identity_checks(settings) if not asked.is_demo else ():
        if found.verdict is Verdict.PROBLEM:
            _tell(f"warning: {found.text} (see `fullwarp check`)")
    _serve(settings)


def _serve(settings: Settings) -> None:
    from app import create_app, open_app, warm_up
    from data.sources import open_sources
    from terminal.serving import Steps, run, url_of

    steps = Steps(
        build=lambda: create_app(settings),
        warm_up=warm_up,
        open=lambda app: open_app(app, open_sources(settings)),
        wsgi=lambda app: app.server,
        ready=lambda: _tell(f"Fullwarp is at {url_of(settings.serve.bind, settings.serve.url_prefix)}"),
    )
    run(settings.serve, steps)


@commands.command()
def check(
    context: typer.Context,
    init: Annotated[bool, typer.Option("--init", help="Write a commented fullwarp.toml here, and stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what works, what is missing and what fixes it. Exit code 1 = problems found."""
    from data.check import Verdict, look
    from data.sources import open_sources
    from terminal.checks import check_lines, closing_line
    from terminal.session import load

    if init:
        _write_example(Path("fullwarp.toml"))
        return
    loaded = load(context.obj.config, is_demo=context.obj.is_demo)
    sources = open_sources(loaded.settings)
    found = list(look(loaded.settings, loaded.path, sources.scheduler, sources.metrics, is_demo=context.obj.is_demo))
    problems = sum(1 for item in found if item.verdict is Verdict.PROBLEM)
    _show(found, lambda rows, _: [*check_lines(rows), closing_line(problems)], as_json)
    raise typer.Exit(NO if problems else FINE)


@commands.command()
def status(
    context: typer.Context,
    partition: PartitionOption = None,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Show the totals of the cluster and what needs attention."""
    from data.queries.live import overview
    from terminal.session import require_slurm
    from terminal.status import status_answer, status_lines

    view = context.obj.view(at)
    _require_partitions(view, partition)
    found = overview(view.viewer, view.sources, at=view.at, filter=_node_filter(partition))
    require_slurm(found.snapshot.sources, is_empty=not found.snapshot.nodes and not found.snapshot.jobs)
    _show(status_answer(found), lambda _, width: status_lines(found, view.zone, width), as_json)


@commands.command()
def nodes(
    context: typer.Context,
    partition: PartitionOption = None,
    state: StateOption = None,
    text: Annotated[str, typer.Option("--name", "-n", help="Only nodes whose name holds this.")] = "",
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """List the nodes with their GPUs."""
    from data.queries.nodes import nodes as ask
    from data.slurm.states import NODE_BUCKETS
    from terminal.session import require_known, require_slurm
    from terminal.status import node_lines

    require_known("node state", [word.lower() for word in state or ()], NODE_BUCKETS)
    view = context.obj.view(at)
    _require_partitions(view, partition)
    found = ask(view.viewer, view.sources, _node_filter(partition, state, text), view.at)
    require_slurm(found.sources, is_empty=not found.total)
    _show(found, lambda rows, width: node_lines(rows, view.zone, width), as_json)


@commands.command()
def jobs(
    context: typer.Context,
    user: UserOption = None,
    account: Annotated[list[str] | None, typer.Option("--account", "-A", help="Only this account's.")] = None,
    partition: PartitionOption = None,
    state: StateOption = None,
    sort: Annotated[str, typer.Option(help="Field to sort by, such as -gpus or utilization.")] = "id",
    limit: Annotated[int, typer.Option(help="The most rows.")] = 100,
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """List running, pending and suspended jobs."""
    from data.model import JobFilter
    from data.queries.jobs import jobs as ask
    from data.slurm.job_states import JOB_STATES
    from terminal.jobs import job_lines
    from terminal.session import require_known, require_slurm

    states = frozenset(SHORT_STATES.get(word.upper(), word.upper()) for word in state or ())
    require_known("job state", states, JOB_STATES)
    view = context.obj.view(at)
    _require_partitions(view, partition)
    wanted = JobFilter(states, frozenset(user or ()), frozenset(account or ()), frozenset(partition or ()))
    found = ask(view.viewer, view.sources, wanted, view.at, sort, limit)
    require_slurm(found.sources, is_empty=not found.total)
    _show(found, lambda page, width: job_lines(page, view.zone, width), as_json)


@commands.command()
def job(
    context: typer.Context,
    job_id: Annotated[str, typer.Argument(metavar="ID", help="123, 123_7 (array task) or 123+1 (part of a het job).")],
    at: At = "",
    as_json: AsJson = False,
) -> None:
    """Report one job: what it was given, what it used, what to change."""
    from data.queries.job_report import job_answer
    from data.queries.pending import waiting
    from terminal.jobs import waiting_lines
    from terminal.report import report_lines

    view = context.obj.view(at)
    found = job_answer(view.viewer, view.sources, job_id, view.at)

    def lines(answer: JobAnswer, width: int) -> Iterable[RenderableType]:
        yield from report_lines(answer, view.zone, width)
        if answer.report.job.state == "PENDING":
            yield from waiting_lines(waiting(view.viewer, view.sources, job_id, view.at), view.zone)

    _show(found, lines, as_json)


@commands.command("demo-series")
def demo_series(
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

        _tell(f"sent {send(world, window, remote_write):,} samples")
    elif folder is not None:
        for path, count in write_folder(world, window, folder):
            _tell(f"wrote {path}: {count:,} samples")
    else:
        openmetrics(world, window, sys.stdout)


def _require_partitions(view: View, partition: list[str] | None) -> None:
    from data.queries.live import snapshot
    from terminal.session import require_known

    if partition:
        seen = snapshot(view.viewer, view.sources, at=view.at)
        names = {name for node in seen.nodes for name in node.partitions} | {part.name for part in seen.partitions}
        require_known("partition", partition, names)


def _node_filter(partition: list[str] | None = None, state: list[str] | None = None, text: str = "") -> NodeFilter:
    from data.model import NodeFilter

    states = frozenset(word.lower() for word in state or ())
    return NodeFilter(partitions=frozenset(partition or ()), states=states, text=text)


def _write_example(path: Path) -> None:
    from terminal.reference import example_file

    try:
        with path.open("x", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o640)
            file.write(example_file())
    except FileExistsError as err:
        raise SettingsError(f"{path} exists already", hint="Nothing was written. Move it away first.") from err
    except OSError as err:
        raise SettingsError(f"{path} cannot be written here: {err.strerror}") from err
    _tell(f"Wrote {path}. Change it, then run: fullwarp check")


def _show(answer: Any, lines: Callable[[Any, int], Iterable[RenderableType]], as_json: bool) -> None:
    if as_json:
        from terminal.form import to_json

        sys.stdout.buffer.write(to_json(answer) + b"\n")
        sys.stdout.flush()
        return
    console = _console()
    for item in lines(answer, console.width):
        console.print(item)


def _console() -> Console:
    """A pipe has no width: there, nothing is cut."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def _tell(text: str) -> None:
    """A message that is not the answer goes to stderr."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Run the command; every error becomes a line and an exit code (0 fine, 1 the answer is no, 2 an error)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        commands()
    except KeyboardInterrupt:
        sys.exit(130)
    except FullwarpError as err:
        _tell(f"fullwarp: {err}" + (f"\n{err.hint}" if err.hint else ""))
        sys.exit(NO if isinstance(err, NotFound) else WRONG)
    except Exception as err:
        place = traceback.extract_tb(err.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        _tell(f"fullwarp: unexpected {type(err).__name__} at {where}: {err}")
        _tell("This is a fault of Fullwarp: please report it.")
        sys.exit(WRONG)


if __name__ == "__main__":
    main()
